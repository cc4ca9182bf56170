"""The corpus runner, run as a user runs it, finds what is planted in a case."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).parents[3]
KEPT = REPOSITORY / "tests" / "corpus" / "cases" / "ticdc-canal-json" / "tiflow-employee"


def test_a_planted_wrong_value_fails_its_case_and_no_other(jars: Path, tmp_path: Path) -> None:
    assert jars.is_dir()
    good, planted = tmp_path / "good" / "employee", tmp_path / "planted" / "employee"
    shutil.copytree(KEPT, good)
    shutil.copytree(KEPT, planted)
    expected = json.loads((planted / "expected.json").read_text())
    (row,) = expected["stages"][1]["tables"]["test.employee"]["rows"]
    row["OfficeLocation"] = "Nowhere"
    (planted / "expected.json").write_text(json.dumps(expected))

    ended = subprocess.run(
        [sys.executable, "-m", "tests.corpus", str(tmp_path), "--refold"],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )

    passed, failed, fault, closing = ended.stdout.splitlines()
    assert passed.startswith("ok   good/employee ticdc  14 cuts")
    assert failed.startswith("FAIL planted/employee ticdc  4 cuts")
    assert fault.strip() == (
        "stage update: test.employee: row {id: 101}: OfficeLocation is 'Los Angeles', not 'Nowhere'"
    )
    assert closing == "1 passed, 1 failed"
    assert ended.returncode == 1, ended.stderr
