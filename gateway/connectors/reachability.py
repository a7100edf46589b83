"""The result of a test that staff start on an upstream's page."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Reachability:
    """`answer`: what came, such as "3 tools"; `failure`: why nothing did, else empty. `advice`: what staff may do."""

    upstream: str
    milliseconds: int
    answer: str = ""
    failure: str = ""
    advice: str = ""

    @property
    def in_words(self) -> str:
        took = f"{self.milliseconds:,} ms"
        told = f"Test failed after {took}: {self.failure}" if self.failure else (
            f"{self.upstream} answers: {self.answer} in {took}."
        )  # fmt: skip
        return f"{told} {self.advice}".strip()
