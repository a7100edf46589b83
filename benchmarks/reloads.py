"""A thousand reloads of the configuration file under load, with two web processes on SQLite.

python -m benchmarks.reloads [--reloads 1000]
"""

import argparse
import statistics
import tempfile
from pathlib import Path

from tests.e2e import reloading
from tests.e2e.serving import serving, web


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--reloads", type=int, default=1000)
    reloads = parser.parse_args().reloads
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "sluice.yaml"
        reloading.write(file, reloading.SIZES[-1])
        with serving(Path(directory) / "data", CONFIG_FILE=str(file)) as sluice, web(sluice.environment) as other:
            load, seconds = reloading.reload(file, [sluice.base, other], sluice.key, reloads)
    ranked = sorted(seconds)
    print(f"{reloads:,} reloads, {load.calls:,} calls, {len(load.failures)} failed or saw two versions")
    print(
        f"in force in both after: median {statistics.median(ranked) * 1000:.0f} ms, "
        f"p95 {ranked[int(len(ranked) * 0.95)] * 1000:.0f} ms, max {ranked[-1] * 1000:.0f} ms"
    )
    for failure in load.failures[:10]:
        print(failure)


if __name__ == "__main__":
    main()
