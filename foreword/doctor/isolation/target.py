"""Target: what one side has stored and the other side asks for, or what nobody has stored."""

import secrets
from dataclasses import dataclass, replace

_CONSONANTS, _VOWELS = "bdfgklmnprtv", "aeiou"


def word() -> str:
    """A word nobody uses, so that one can tell where it came from; no redaction takes it for a secret."""
    return "".join(secrets.choice(_CONSONANTS) + secrets.choice(_VOWELS) for _ in range(6))


@dataclass(frozen=True, kw_only=True)
class Target:
    """Names of one memory and of what is in it; tokens that only its owner got.

    ``doomed`` are ids that the removing doors are tried on, each with the tag; ``secret``, ``job`` and
    ``run`` are the tenant's, whatever the ref.
    """

    ref: str
    id: str
    doomed: tuple[str, str, str]
    tag: str
    canary: str
    secret: str
    job: str
    run: str
    cursor: str = ""
    position: str = ""
    session: str = ""

    @classmethod
    def named(cls) -> "Target":
        """Names that nothing has yet; each kind is of one length, so that answers differ in nothing else."""
        return cls(
            ref=f"mem://isolation/{word()}",
            id=f"{word()}-1",
            doomed=(f"{word()}-2", f"{word()}-3", f"{word()}-4"),
            tag=word(),
            canary=word(),
            secret=word(),
            job=f"{secrets.token_hex(4)}-0000-4000-8000-{secrets.token_hex(6)}",
            run=f"{secrets.token_hex(4)}-0000-4000-8000-{secrets.token_hex(6)}",
        )

    def stranger(self) -> "Target":
        """Names as unknown as can be, with the owner's tokens: asking for it must be like asking for this."""
        return replace(Target.named(), cursor=self.cursor, position=self.position, session=self.session)

    def blurred(self, text: str) -> str:
        """A text without the names in it, so that two answers can be compared."""
        names = (self.ref, self.id, *self.doomed, self.tag, self.secret, self.job, self.run)
        for name in names:
            text = text.replace(name, "*")
        return text

    def betrayed_by(self, text: str) -> bool:
        """Whether a text holds what was stored."""
        return self.canary in text
