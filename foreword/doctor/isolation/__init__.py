"""Isolation: stores as one tenant, asks as another through every door, and says which door tells what.

Asked are a running server's own doors, so that what is proved is what is served (OpenWOP CTI-1).
"""

from foreword.doctor.isolation.examination import Examination
from foreword.doctor.isolation.pair import Pair, given_pair, throwaway_pair
from foreword.doctor.isolation.verdict import Verdict

__all__ = ["Examination", "Pair", "Verdict", "given_pair", "throwaway_pair"]
