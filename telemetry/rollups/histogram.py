"""Histograms of durations in logarithmic buckets, which can be added up and give percentiles within 2.2 %.

A bucket is 2^(1/16) = 1.0443 times as wide as the one before: the scale 4 of OpenTelemetry's exponential histograms.
Bucket n holds durations from 2^(n/16) to 2^((n+1)/16) microseconds.
"""

import json
import math
from collections.abc import Mapping

import orjson

PER_DOUBLING = 16  # buckets between a duration and its double
LAST = 16 * 40  # the bucket of 2^40 microseconds, 12 days; it holds longer durations too

Histogram = Mapping[int, int]  # the number of calls by bucket


def bucket_of(milliseconds: float) -> int:
    """The bucket of a duration. Durations below a microsecond are in bucket 0."""
    microseconds = milliseconds * 1000
    return min(int(math.log2(microseconds) * PER_DOUBLING), LAST) if microseconds > 1 else 0


def middle(bucket: int) -> float:
    """The duration that stands for a bucket, in milliseconds: the geometric mean of its limits."""
    return float(2 ** ((bucket + 0.5) / PER_DOUBLING)) / 1000


def percentile(histogram: Histogram, percent: int) -> float | None:
    """The nearest-rank percentile in milliseconds; None for an empty histogram."""
    rank = -(-sum(histogram.values()) * percent // 100)
    for bucket in sorted(histogram):
        rank -= histogram[bucket]
        if rank <= 0:
            return middle(bucket)
    return None


def dumps(histogram: Histogram) -> str:
    return json.dumps({str(bucket): histogram[bucket] for bucket in sorted(histogram)}, separators=(",", ":"))


def joined(texts: str | None) -> dict[int, int]:
    """The sum of histograms, whose texts are separated by commas."""
    total: dict[str, int] = {}
    for each in orjson.loads(f"[{texts or ''}]"):
        if total:
            for bucket, count in each.items():
                total[bucket] = total.get(bucket, 0) + count
        else:
            total = each
    return {int(bucket): count for bucket, count in total.items()}
