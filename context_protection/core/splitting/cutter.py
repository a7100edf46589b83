"""Splits a text into chunks, each as long as its limits allow."""

from array import array
from bisect import bisect_right

from context_protection.core.splitting.blocks import Blocks
from context_protection.core.splitting.boundaries import BlockEnds, Boundaries, LineEnds, LineSentences
from context_protection.core.splitting.characters import CodePoints, Graphemes, Words
from context_protection.core.splitting.chunks import ChunkLimits
from context_protection.core.splitting.forms import LINE_CONTENT, TextForm

_FILL = 0.97  # the share of the cap to aim at, since weight is not quite proportional to length
_ENOUGH = 0.85  # the share of the cap from which a chunk counts as well filled


class Cutter:
    """Cuts `text[start:stop]` from front to back, each chunk as long as its limits allow.

    Weighing takes most of the time. So a chunk is weighed as a whole and, if it is over the cap, shortened in
    proportion; the weight of the last chunk predicts the length of the next.
    """

    def __init__(
        self,
        text: str,
        form: TextForm,
        blocks: Blocks,
        line_ends: "array[int]",
        limits: ChunkLimits,
        start: int,
        stop: int,
        density: float = 0.0,
    ) -> None:
        self.text, self.limits, self.start, self.stop = text, limits, start, stop
        self.by_lines, self.line_ends = form in LINE_CONTENT, line_ends
        self.blocks = blocks
        self.blocks.clip(stop)
        self.levels: tuple[Boundaries, ...] = (
            BlockEnds(text, self.blocks, line_ends, self.by_lines),
            LineEnds(line_ends),
            LineSentences(text, line_ends),
            Words(text, stop),
            Graphemes(text, stop),
            CodePoints(text),
        )
        # For each level, the end of the last unit that alone exceeds the cap; inside it, finer levels are used.
        self.over_cap_to = [0] * len(self.levels)
        self.density = density  # weight per character of the last text that was weighed

    def cuts(self, until: int) -> list[int]:
        """The start of the first chunk, then the ends of all chunks that begin before `until`."""
        cuts = [self.start]
        while cuts[-1] < until:
            cuts.append(self._chunk_end(cuts[-1]))
        return cuts

    def _chunk_end(self, start: int) -> int:
        """The end of the chunk that begins at `start`: limited by its budget and, if that is earlier, by the cap."""
        budget = self._budget_end(start)
        wish = self._boundary(start, budget, self.stop + 1) or self.stop
        end: int | None = self._predicted(start, wish)
        fits, over, tries = start, self.stop + 1, 0  # the last end known to fit, the first known not to
        while end is not None and end > fits:
            tries += 1
            if self._is_over(start, end):
                over = end
            else:
                fits = end
                if end == wish or tries > 4 or self._is_well_filled(end - start, wish - start):
                    return end
            room = min(self._filled(start, wish), budget, over - 1)
            end = self._boundary(start, max(start + 1, room), over)
        return fits if fits > start else over

    def _is_well_filled(self, length: int, wished: int) -> bool:
        full = length * self.density >= self.limits.cap * _ENOUGH
        return full and wished * self.density > self.limits.cap

    def _predicted(self, start: int, wish: int) -> int:
        """The first candidate: `wish`, or an earlier end if the last density predicts that `wish` is over the cap."""
        return self._boundary(start, self._filled(start, wish), wish + 1) or wish

    def _filled(self, start: int, wish: int) -> int:
        """The last end that should be under the cap, predicted from the last density; at most `wish`."""
        if (wish - start) * self.density <= self.limits.cap:
            return wish
        return start + max(1, int(self.limits.cap * _FILL / self.density))

    def _is_over(self, start: int, end: int) -> bool:
        """Whether this piece is over the cap. A very long piece is weighed only as far as necessary."""
        length = 8 * self.limits.cap
        while True:
            piece = self.text[start : min(start + length, end)]
            weight = max(1, self.limits.weigh(piece))
            self.density = weight / len(piece)
            if weight > self.limits.cap or start + length >= end:
                return weight > self.limits.cap
            length *= 2

    def _boundary(self, start: int, room: int, over: int) -> int | None:
        """The best end of a chunk: up to `room`, or else the end of its first unit if that may be under the cap.

        Uses the coarsest level that has such an end. Finer levels are used only inside a unit that extends to `over`,
        an end that was weighed and is over the cap. None if no end precedes `over`.
        """
        if over == start + 1:
            return None
        body = self.blocks.body(bisect_right(self.blocks.ends, start))
        floor = body if start < body < room else start
        for number, level in enumerate(self.levels):
            end = level.last(floor, room)
            if end is not None:
                return end
            if start < self.over_cap_to[number]:
                continue
            unit_end = level.first(floor)
            if unit_end < over:
                return unit_end
            if start < body < over and not self._is_over(body, unit_end):
                return body  # the body must stay whole, and fits only without its long head
            self.over_cap_to[number] = unit_end
        return None

    def _budget_end(self, start: int) -> int:
        if self.by_lines:
            line = bisect_right(self.line_ends, start) + self.limits.lines - 1
            return min(self.line_ends[min(line, len(self.line_ends) - 1)], self.stop)
        return start + self._length_of_tokens(start)

    def _length_of_tokens(self, start: int) -> int:
        """The number of characters that fit into the token budget: close to the maximum, at least one."""
        tokens, rest, fits = self.limits.tokens, self.stop - start, 1
        length = min(4 * tokens, rest)
        for _ in range(8):
            measured = self.limits.measure(self.text[start : start + length])
            if measured <= tokens:
                fits = max(fits, length)
                if length == rest or measured >= 0.95 * tokens:
                    break
            length = max(1, min(rest, length * tokens // max(1, measured)))
        return fits
