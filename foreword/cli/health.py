"""``foreword doctor``: is everything as it should be, and which command mends what is not."""

import click

COMMANDS: tuple[click.Command, ...] = ()
