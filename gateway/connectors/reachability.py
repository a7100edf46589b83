"""The result of a test that staff start on an upstream's page."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Reachability:
    """`answer`: a summary of the answer, such as "3 tools". `failure`: why the test failed; empty if it succeeded.
    `advice`: what staff can do next."""

    upstream: str
    milliseconds: int
    answer: str = ""
    failure: str = ""
    advice: str = ""

    @property
    def in_words(self) -> str:
        took = f"{self.milliseconds:,} ms"
        result = f"Test failed after {took}: {self.failure}" if self.failure else (
            f"{self.upstream} answers: {self.answer} in {took}."
        )  # fmt: skip
        return f"{result} {self.advice}".strip()
