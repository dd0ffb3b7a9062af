"""Reports, comparisons, plots, notebooks' pages, machines of one's own."""
import json

import matplotlib
import pyarrow
import pytest

import homenode as hn

matplotlib.use("Agg")


def test_a_report_is_the_commands(slow, homenode):
    report = slow.report()
    assert json.loads(report.to_json()) == json.loads(homenode("report", slow.path, "--json").stdout)
    assert report.to_text(80) == homenode("report", slow.path, env={"COLUMNS": "80", "PATH": "/usr/bin:/bin"}).stdout
    assert "grid" in str(report) and "findings" in repr(report)


def test_tables_have_the_documents_rows(slow):
    report = slow.report()
    found = report.to_dict()["evaluations"][0]
    policies = pyarrow.table(report.policies)
    assert policies["name"].to_pylist() == [row["name"] for row in found["policies"]]
    assert policies["total"].to_pylist() == [row["total"] for row in found["policies"]]
    assert pyarrow.types.is_uint64(policies.schema.field("total").type)
    findings = pyarrow.table(report.findings)
    assert "grid" in findings["object"].to_pylist()[0]
    assert len(report.table("nothing.of.this.name")) == 0
    assert len(report.verified) == 0
    assert len(slow.optimum()) == len(found["optimum"])
    assert "hits" in pyarrow.table(slow.false_sharing())["object"].to_pylist()


def test_the_clean_twin_has_no_such_findings(slow, clean):
    named = [row["object"] for row in clean.report().to_dict()["evaluations"][0]["findings"]]
    assert not any("grid" in name or "hits" in name for name in named), named
    found = hn.compare(slow, clean)
    assert found.after < found.before and any("grid" in name for name in found.remedied)
    assert 0 < found.saving < 1


def test_a_notebook_gets_the_page(slow):
    shown = slow.report()._repr_html_()
    assert shown.startswith("<iframe srcdoc=") and "&lt;!doctype html&gt;" in shown.lower()


def test_plots_draw_what_the_document_says(slow, tmp_path):
    report = slow.report()
    found = report.to_dict()["evaluations"][0]
    axes = report.plot.policies()
    assert [t.get_text() for t in axes.get_yticklabels()] == [r["name"] for r in [*found["policies"], *found["optimum"]]]
    widths = sum(bar.get_width() for bar in axes.patches if abs(bar.get_y() + 0.35) < 1e-9)
    unit = {"cost (s)": 1e12, "cost (ms)": 1e9, "cost (us)": 1e6}[axes.get_xlabel()]
    assert widths * unit == pytest.approx(found["policies"][0]["total"])
    for name in ["patterns", "objects", "lines", "heat"]:
        file = tmp_path / f"{name}.png"
        getattr(report.plot, name)().figure.savefig(file)
        assert file.stat().st_size > 5000
    for name in ["policies", "patterns", "objects"]:
        spec = getattr(report.chart, name)().to_dict()
        assert spec["data"]["values"], name


#: Two nodes of two processors, without caches: each reference costs.
FLAT = {
    "name": "flat", "unit": "ps", "word_bytes": 8, "page_bytes": 4096, "cores": [2, 2], "remote_access": True,
    "read": {"near": 1000, "far": 3000}, "copy": {"fixed": 0, "per_word": 100},
}


def test_machines_are_dictionaries_too(slow, tmp_path):
    machine = hn.Machine(FLAT)
    (tmp_path / "flat.toml").write_text(machine.toml)
    report = slow.report(machine)
    assert report.to_dict()["evaluations"] == slow.report(tmp_path / "flat.toml").to_dict()["evaluations"]
    assert hn.Machine.read(tmp_path / "flat.toml").toml == machine.toml
    dear = slow.report(hn.Machine(FLAT | {"read": {"near": 1000, "far": 9000}}))
    total = lambda report: pyarrow.table(report.policies)["total"].to_pylist()[0]
    assert total(dear) > total(report)
    with pytest.raises(hn.InputError, match="is not allowed"):
        slow.report(hn.Machine(FLAT | {"read": {"near": -1, "far": 1}}))
    with pytest.raises(TypeError):
        hn.Machine({"name": object()})


def test_a_plan(slow, homenode):
    plan = slow.place()
    assert plan == json.loads(homenode("place", slow.path, "--json", "--machine", "two-socket").stdout)
