from __future__ import annotations

import csv
import datetime as dt
import sys
from collections import defaultdict
from dataclasses import dataclass, field


@dataclass
class Station:
    name: str
    levels: list[float] = field(default_factory=list)
    faults: dict[str, int] = field(default_factory=lambda: defaultdict(int))

    def add(self, text: str) -> None:
        try:
            level = float(text.replace(",", "."))
        except ValueError:
            self.faults[text[:8]] += 1
            return
        if not -20 < level < 20:  # a frozen gauge says 9999
            self.faults["out of range"] += 1
            return
        self.levels.append(level)

    @property
    def mean(self) -> float | None:
        return sum(self.levels) / len(self.levels) if self.levels else None


def read(path: str, *, since: dt.datetime | None = None) -> dict[str, Station]:
    """Reads one file; rows before `since` are left out."""
    stations: dict[str, Station] = {}
    with open(path, newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file, delimiter=";"):
            time = dt.datetime.fromisoformat(row["time"])
            if since is not None and time < since:
                continue
            name = row["station"].strip().lower()
            stations.setdefault(name, Station(name)).add(row["level"])
    return stations


def main(paths: list[str]) -> int:
    worst = 0
    for path in paths:
        for name, station in sorted(read(path).items()):
            mean = f"{station.mean:.2f} m" if station.mean is not None else "-"
            print(f"{name:<20}{mean:>10}  faults={dict(station.faults)!r}")
            worst = max(worst, sum(station.faults.values()))
    return 1 if worst > 100 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or ["tide.csv"]))
