"""A fix: adds a section that names the licence, as the first line of the file LICENSE has it."""

import os
import re
from pathlib import Path

from commands import PROJECT


def with_license(page: str) -> str:
    file = PROJECT / "LICENSE"
    if re.search(r"(?mi)^## licen[sc]e", page) or not file.is_file():
        return page
    name = file.read_text(encoding="utf-8").strip().splitlines()[0].strip()
    return page.rstrip() + f"\n\n## License\n\n{name}, see [LICENSE](LICENSE).\n"


if __name__ == "__main__":
    path = Path(os.environ["HONESTONE_ARTIFACT"])
    path.write_text(with_license(path.read_text(encoding="utf-8")), encoding="utf-8")
