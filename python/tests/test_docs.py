"""The documentation: it is built without a warning, asks for nothing, and what its pages tell a
reader to do comes out as they say.
"""

import html
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
sys.path.insert(0, str(DOCS / "_ext"))

import blocks  # noqa: E402
import command_line  # noqa: E402
import follow  # noqa: E402
import gallery  # noqa: E402
import scenario_schema  # noqa: E402


def names_of_scenarios():
    """All scenarios of the repository."""
    return sorted(file.stem for file in (ROOT / "scenarios").glob("*.toml"))


def pages():
    """All pages that somebody wrote and that have something to do in them."""
    all_ = (page for page in sorted(DOCS.rglob("*.md")) if not {"_build", "generated"} & {*page.relative_to(DOCS).parts})
    return [page for page in all_ if blocks.blocks(page)]


@pytest.fixture(scope="session")
def site():
    """The built pages."""
    done = subprocess.run(["bash", DOCS / "build.sh", "--built"], env=os.environ | {"PYTHON": sys.executable}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return DOCS / "_build" / "html"


def test_the_site_is_built_without_a_warning_and_its_pages_ask_for_nothing(site):
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    path = next(filter(None, map(shutil.which, names)), None)
    assert path, "no browser: `bash install.sh` gets Debian's chromium"
    built = [p for p in sorted(site.rglob("*.html")) if p.name not in {"genindex.html", "py-modindex.html"}]
    assert len(built) > 20
    asked, said, copied = [], [], 0
    with sync_playwright() as p:
        browser = p.chromium.launch(executable_path=path, args=["--no-sandbox"] if os.getuid() == 0 else [])
        try:
            context = browser.new_context(offline=True, viewport={"width": 400, "height": 800})
            page = context.new_page()
            page.on("request", lambda request: asked.append(request.url))
            page.on("console", lambda message: said.append(f"{page.url}: {message.text}") if message.type in {"error", "warning"} else None)
            page.on("pageerror", lambda error: said.append(f"{page.url}: {error}"))
            for one in built:
                page.goto(one.as_uri())
                assert page.title()
                if page.evaluate("document.documentElement.scrollWidth") > 400:
                    said.append(f"{one.name} is wider than a telephone")
                buttons, typed = (page.locator(what).count() for what in ("button.copybtn", "div.highlight-sh pre, div.highlight-toml pre"))
                if buttons < typed:
                    said.append(f"{one.name} has {buttons} buttons to copy {typed} blocks")
                copied += buttons
        finally:
            browser.close()
    assert not said
    assert copied > 50
    assert {url.partition(":")[0] for url in asked} <= {"file", "data"}, asked


@pytest.mark.parametrize(
    ("page", "holds"),
    [
        ("generated/command-line", ["timeplane run", "timeplane study", "timeplane live keys issue", "--until", "Exit codes: 0 success"]),
        ("generated/scenario", ["The whole file", "[scheme.NAME.plan]", "needed", "Quantities"]),
        ("generated/scenario-scheme-plan", ["weighted_round_robin", "scheme.NAME.plan.tdma"]),
        ("generated/results", ["fct_mean_ps", "granted_bytes", "From arrival to the last byte at the receiver", "steps.parquet"]),
        ("generated/daemon-metrics", ["timeplane_controller_slips_total", "timeplane_channel_joined_total", "timeplane_agent_frames_total", "Frames that left."]),
        ("generated/frames", ["Signal of EtherType 0x88b5, with a hold and tagged", "timeplane.grant.destination", "Class names", "Stream", "Repair"]),
        ("python", ["register_scheduler", "to_polars() → DataFrame", "class Tdma(", "max_min_matrix"]),
    ],
)
def test_the_reference_has_what_the_code_has(site, page, holds):
    words = html.unescape(re.sub(r"<[^>]+>", "", (site / "reference" / f"{page}.html").read_text(encoding="utf-8"))).lower()
    missing = [text for text in holds if text.lower() not in words]
    assert not missing


def text_of(file):
    return file.read_text(encoding="utf-8")


def test_every_scenario_has_a_card(site):
    card = re.compile(r'<section id="scenario-of-[^"]*">\s*(?:<span id="[^"]*"></span>)*<h2>(?P<name>[^<]+)<.*?</section>', re.DOTALL)
    cards = {found["name"]: found[0] for found in card.finditer(text_of(site / "gallery" / "generated" / "scenarios.html"))}
    assert sorted(cards) == names_of_scenarios()
    for name, shown in cards.items():
        words = " ".join(html.unescape(re.sub(r"<[^>]+>", "", shown)).split())
        assert f"timeplane run scenarios/{name}.toml" in words and "Answer:" in words and "of processor time" in words
        assert "<svg" in shown and 'role="img"' in shown and "#000000" not in shown
        assert ("sudo timeplane live lab" in words) == ("timeplane live lab scenarios/" in text_of(ROOT / "scenarios" / f"{name}.toml"))


def test_links_of_the_reference_lead_to_sections(site):
    folder = site / "reference" / "generated"
    files = sorted(folder.glob("scenario*.html"))
    assert len(files) > 8
    ids = {file.name: {*re.findall(r'\bid="([^"]+)"', text_of(file))} for file in files}
    links = [(file.name, *found) for file in files for found in re.findall(r'href="(scenario[\w-]*\.html)?#(scenario-[^"]+)"', text_of(file))]
    assert len(links) > 200
    assert not [link for link in links if link[2] not in ids[link[1] or link[0]]]
    # Addresses of the one page that these were.
    sections = {section for name, found in ids.items() if name != "scenario.html" for section in found if section.startswith("scenario-")}
    assert not sections - ids["scenario.html"]


def test_every_claim_has_a_command(site):
    words = html.unescape(re.sub(r"<[^>]+>", "", text_of(site / "gallery" / "generated" / "reproduce.html"))).replace("\u2019", "'")
    for folder in sorted(file.parent for file in (ROOT / "studies").glob("*/study.py")):
        assert f"timeplane study {folder.name} --figures" in words
        missing = [row[2] for row in gallery.compared(folder) if row[2].replace("`", "") not in words]
        assert not missing


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(DOCS)))
def test_what_a_page_tells_its_reader_to_do_comes_out(page, site):
    # `site`: the programs are built by then.
    follow.compare(follow.follow(page))


@pytest.mark.parametrize("readme", sorted((ROOT / "studies").glob("*/README.md")), ids=lambda readme: readme.parent.name)
def test_commands_of_studies_which_take_hours_are_such_that_there_are(readme):
    found = [block for block in blocks.blocks(readme) if block.language == "sh"]
    assert found
    for block in found:
        follow.check(block)


def written(folder, text):
    page = folder / "page.md"
    page.write_text(text, encoding="utf-8")
    return page


def test_a_page_is_followed_word_for_word(tmp_path):
    page = written(tmp_path, "# A\n```sh\nmkdir a\ncd a\nx=7\n```\n```toml\n# b.toml\nname = 1\n```\n```sh\necho $x; cat b.toml; ls ..\n```\n```text\n7\n...\nname = 1\n...\n```\n")
    done = follow.follow(page)
    follow.compare(done)
    assert done[0][1].splitlines()[1:3] == ["# b.toml", "name = 1"], "one shell, and the file as it is"
    assert {"a", "README.md", "scenarios"} <= {*done[0][1].splitlines()}, "in a fresh copy"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("```sh\necho 1\n```\n```text\n2\n```\n", "page.md:5: the page says"),
        ("```sh\nfalse\necho 1\n```\n", "page.md:2: it failed"),
        ("<!-- exits: 3 -->\n```sh\nfalse\n```\n", "it ends with code 1, not 3"),
        ("```sh\ntimeplane validate missing.toml\n```\n", "missing.toml"),
        ("<!-- not run: slow -->\n```sh\nsudo timeplane run x.toml --seed 3 > x\n```\n", "--seed"),
        ("<!-- not run: slow -->\n```python\nx = (\n```\n", "was never closed"),
        ("<!-- not run: slow -->\n```sh\ntimeplane study tmda --quick\n```\n", "did you mean `tdma`?"),
        ("<!-- not run: slow -->\n```sh\ntimeplane study tdma --quik\n```\n", "timeplane study tdma --quik"),
    ],
)
def test_what_does_not_come_out_is_found(tmp_path, text, says):
    with pytest.raises((follow.FollowError, SyntaxError)) as failed:
        follow.compare(follow.follow(written(tmp_path, text)))
    assert says in str(failed.value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("```toml\nseeds = 3\n```\n", "page.md:2: its first line says"),
        ("```fish\nls\n```\n", "`fish`"),
        ("```sh\nls\n", "page.md:1: a block that does not end"),
        ("<!-- not run: slow -->\nwords\n```sh\nls\n```\n", "page.md:2: `not run` stands right in front"),
    ],
)
def test_a_page_that_breaks_the_rules_is_refused(tmp_path, text, says):
    with pytest.raises(blocks.PageError, match=says.replace("`", ".")):
        blocks.blocks(written(tmp_path, text))


def test_dots_stand_for_any_lines():
    assert follow.same("a\n...\nd\n", "a\nb\nc\nd\n") and follow.same("...\n", "") and follow.same("a  \n", "a\n")
    assert not follow.same("a\n...\nd\n", "a\nb\n") and not follow.same("a\n", "a\nb\n")


def test_an_update_writes_what_came_out(tmp_path):
    page = written(tmp_path, "```sh\necho 1; echo 2\n```\n```text\n3\n```\nend\n")
    follow.update(follow.follow(page))
    assert page.read_text(encoding="utf-8") == "```sh\necho 1; echo 2\n```\n```text\n1\n2\n```\nend\n"
    follow.compare(follow.follow(page))


def test_help_is_read_as_it_is_written():
    read = command_line.read(
        "Does it\n\nAt length.\n\nUsage: x [OPTIONS] <FILE>\n\nArguments:\n  <FILE>\n          A file\n\nOptions:\n      --set <K=V>\n"
        "          Sets\n          \n          As `a=1`.\n\n  -q, --quiet\n          No progress\n\nExit codes: 0 ok.\n"
    )
    assert read.about == "Does it\n\nAt length." and read.usage == "x [OPTIONS] <FILE>" and read.after == "Exit codes: 0 ok."
    assert read.sections == [("Arguments", [("<FILE>", "A file")]), ("Options", [("--set <K=V>", "Sets\n\nAs `a=1`."), ("-q, --quiet", "No progress")])]


def test_a_study_shows_what_it_was_compared_with(tmp_path):
    folder = tmp_path / "tdma"
    shutil.copytree(ROOT / "studies" / "tdma", folder, ignore=shutil.ignore_patterns("figures", "__pycache__"))
    assert len(gallery.compared(folder)) == 26
    table = folder / "tables" / "compared.csv"
    text = table.read_text(encoding="utf-8")
    for wrong, says in [
        (text.replace("194 s", "195 s"), "`switch` is not what published.csv says"),
        (text.replace(",192.9 s", ",192.8 s").replace('"192.9 s', '"192.8 s'), "README.md does not have"),
        ("\n".join(text.splitlines()[:-1]) + "\n", "not about the statements"),
        (text.replace(",arithmetic\n", ",perhaps\n"), "verdict `perhaps` is not one of the scale"),
    ]:
        assert wrong != text
        table.write_text(wrong, encoding="utf-8")
        with pytest.raises(gallery.GalleryError, match=says):
            gallery.compared(folder)
    table.write_text(text, encoding="utf-8")
    # A verdict that changes needs its reason, and the history ends with today's.
    place = folder / "history.csv"
    history = place.read_text(encoding="utf-8")
    for wrong, says in [
        (history + "near,yes,yes,\n", "`near` has a new verdict: expected the reason"),
        (history + "near,yes,no,A mistake.\n", "the last verdict of `near` is `no`: expected `yes`"),
        (history + "near,no,yes,Found.\n", "README.md does not have"),
    ]:
        place.write_text(wrong, encoding="utf-8")
        with pytest.raises(gallery.GalleryError, match=says):
            gallery.compared(folder)


def test_every_key_of_a_scenario_is_on_its_page():
    import json

    from timeplane import _core

    schema = json.loads(_core.schema())
    text = "".join(map(str, scenario_schema.pages(schema).values()))

    def keys(of):
        for name, inner in of.get("properties", {}).items():
            yield name
            if isinstance(inner, dict):
                yield from keys(inner)
        for choice in of.get("oneOf", []):
            yield from keys(choice)

    every = {*keys(schema)}.union(*(keys(one) for one in schema["$defs"].values()))
    assert len(every) > 200
    missing = {name for name in every if f"`{name}`" not in text}
    assert not missing
