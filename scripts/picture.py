"""Markdown -> HTML as GitHub makes it -> PNG. Started by scripts/picture, which installs what this needs."""

import argparse
import html
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

CHROMIUM = os.environ["CHROMIUM"]
TOOLS = Path(os.environ["TOOLS"])
# A block of its own lines; the fence may stand in a list.
MERMAID = re.compile(r"^ *```mermaid\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
THEMES = {"light": ("default", "#ffffff"), "dark": ("dark", "#0d1117")}


def markdown_of(path: Path) -> str:
    """The Markdown of a stored report, of a Markdown file, or of an insta snapshot without its head."""
    if path.suffix == ".json":
        gate = os.environ.get("CANARY_GATE") or next(map(str, Path("target").glob("*/debug/canary-gate")), "canary-gate")
        command = [gate, "report", "--from", str(path), "--format", "markdown"]
        shown = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
        if not shown.stdout:
            sys.exit(f"{' '.join(command)} printed nothing")
        return shown.stdout
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".snap":
        return text.split("\n---\n", 1)[1]
    return text


def compile_mermaid(diagrams: list[str], theme: str, folder: Path) -> list[Path | str]:
    """An SVG for each diagram, or what the compiler says of it."""
    settings = folder / "puppeteer.json"
    settings.write_text(json.dumps({"executablePath": CHROMIUM, "args": ["--no-sandbox"]}))
    compiled = []
    for number, diagram in enumerate(diagrams):
        source, target = folder / f"{theme}-{number}.mmd", folder / f"{theme}-{number}.svg"
        source.write_text(diagram, encoding="utf-8")
        command = [
            str(TOOLS / "node_modules/.bin/mmdc"),
            *("--puppeteerConfigFile", str(settings), "--theme", theme, "--quiet"),
            *("--svgId", f"diagram-{theme}-{number}", "--backgroundColor", "transparent"),
            *("--input", str(source), "--output", str(target)),
        ]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        compiled.append(target if ended.returncode == 0 else ended.stderr or ended.stdout)
    return compiled


def check_mermaid(paths: list[Path]) -> int:
    """Compiles each different diagram once."""
    files = []
    for path in paths:
        found = sorted(path.rglob("*")) if path.is_dir() else [path]
        files += [file for file in found if file.suffix in (".md", ".snap", ".json") or not path.is_dir()]
    places: dict[str, list[str]] = {}
    for file in files:
        # A stored report in a folder may be anything else; one that is named is rendered.
        if file.suffix == ".json" and file not in paths:
            continue
        for diagram in MERMAID.findall(markdown_of(file)):
            places.setdefault(diagram, []).append(str(file))
    with tempfile.TemporaryDirectory() as folder:
        compiled = compile_mermaid(list(places), "default", Path(folder))
    broken = [(places[diagram], error) for diagram, error in zip(places, compiled) if isinstance(error, str)]
    for where, error in broken:
        print(f"does not compile, in {', '.join(where)}:\n{error}", file=sys.stderr)
    print(f"{len(places)} Mermaid diagrams in {len(files)} files, {len(broken)} broken")
    return 1 if broken else 0


def drawn(diagrams: list[str], theme: str, folder: Path) -> list[str]:
    """The diagrams as SVG; ends the program where one does not compile."""
    compiled = compile_mermaid(diagrams, THEMES[theme][0], folder)
    for diagram, result in zip(diagrams, compiled):
        if isinstance(result, str):
            sys.exit(f"a diagram does not compile: {result}\n{diagram}")
    return [result.read_text(encoding="utf-8") for result in compiled]


def page(markdown: str, theme: str, drawings: list[str], is_open: bool, width: int) -> str:
    """A document that looks as a comment on GitHub does."""
    import comrak

    extension = comrak.ExtensionOptions()
    for name in ("strikethrough", "table", "autolink", "tasklist", "footnotes", "tagfilter", "alerts"):
        setattr(extension, name, True)
    render = comrak.RenderOptions()
    render.unsafe_ = True  # GitHub takes HTML and sanitizes it; ours is what was escaped
    render.hardbreaks = True  # as in comments
    body = comrak.render_markdown(markdown, extension_options=extension, render_options=render)
    for diagram, drawing in zip(MERMAID.findall(markdown), drawings):
        written = html.escape(diagram, quote=False).replace('"', "&quot;")
        for opening in ('<pre><code class="language-mermaid">', '<pre lang="mermaid"><code>'):
            body = body.replace(f"{opening}{written}</code></pre>", drawing, 1)
    if 'language-mermaid"' in body or 'lang="mermaid"' in body:
        sys.exit("a diagram was not put into the page")
    if is_open:
        body = body.replace("<details>", "<details open>")
    style = (TOOLS / f"node_modules/github-markdown-css/github-markdown-{theme}.css").read_text()
    return f"""<!doctype html><meta charset="utf-8"><style>{style}
body {{ box-sizing: border-box; width: {width}px; margin: 0; padding: 16px; background: {THEMES[theme][1]}; }}
svg {{ max-width: 100%; height: auto; }}</style>
<article class="markdown-body">{body}</article>
<script>document.title = document.documentElement.getBoundingClientRect().height</script>"""


def browse(*arguments: str) -> str:
    with tempfile.TemporaryDirectory() as profile:
        command = [
            *(CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
            *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
            *("--hide-scrollbars", f"--user-data-dir={profile}", *arguments),
        ]
        ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    return ended.stdout


def shoot(document: Path, width: int, target: Path) -> None:
    """As high as the page is."""
    dom = browse(f"--window-size={width},800", "--dump-dom", document.as_uri())
    title = re.search(r"<title>([\d.]+)</title>", dom)
    height = int(float(title[1])) + 1 if title else 1600
    browse(f"--window-size={width},{height}", f"--screenshot={target}", document.as_uri())
    if not target.exists():
        sys.exit(f"{target} was not written")
    print(target)


# Of GitHub's comments: a telephone, the usual page, a wide one.
WIDTHS = (400, 760, 1000)
# Of the page without GitHub's own head, on a screen of 1080 lines.
SCREEN = 950
MEASURE = """<script>
const row = document.querySelector("table tbody tr");
const titles = [...document.querySelectorAll("table thead th")].map((title) => title.textContent.trim());
const cells = row ? [...row.children] : [];
const place = cells.findIndex((cell, index) => index > titles.indexOf("Instance") && cell.querySelector("strong"));
const fold = document.querySelector("details");
const end = fold ? fold.getBoundingClientRect().top : document.documentElement.getBoundingClientRect().height;
const edge = (cell) => (cell ? cell.getBoundingClientRect().right : 0);
const [verdict, right] = [edge(cells[0]), edge(cells[place])];
document.title = JSON.stringify({ column: titles[place] ?? "", place, instance: titles.indexOf("Instance"), verdict, right, end });
</script>"""


def measured(markdown: str, width: int, folder: Path) -> dict:
    """Where the number that decides ends, and where the first fold begins."""
    drawings = drawn(MERMAID.findall(markdown), "light", folder)
    document = folder / "page.html"
    document.write_text(page(markdown, "light", drawings, False, width) + MEASURE, encoding="utf-8")
    dom = browse(f"--window-size={width},800", "--dump-dom", document.as_uri())
    title = re.search(r"<title>(\{.*?\})</title>", dom)
    if not title:
        sys.exit("the page could not be measured")
    return json.loads(html.unescape(title[1]))


def measure(paths: list[Path]) -> int:
    """Ends with 1 where the number that decides is off the page, or not beside its name, or the first fold off the screen."""
    broken = 0
    for path in paths:
        markdown = markdown_of(path)
        for width in WIDTHS:
            with tempfile.TemporaryDirectory() as folder:
                found = measured(markdown, width, Path(folder))
            # On a telephone a table is scrolled, and its first cell says what decides.
            is_narrow = width < WIDTHS[1]
            is_on_page = found["verdict" if is_narrow else "right"] <= width
            is_beside = found["place"] in (-1, found["instance"] + 1)
            is_on_screen = is_narrow or found["end"] <= SCREEN
            is_good = is_on_page and is_beside and is_on_screen
            broken += not is_good
            print(
                f"{'good' if is_good else 'BAD '} {path.stem} at {width} px: {found['column'] or 'nothing decides'}"
                f" ends at {found['right']:.0f} px, the first fold begins at {found['end']:.0f} px"
            )
    return 1 if broken else 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/picture")
    parser.add_argument("--mermaid-only", action="store_true")
    parser.add_argument("--measure", action="store_true")
    parser.add_argument("--out", type=Path, default=Path("target/pictures"))
    parser.add_argument("paths", nargs="+", type=Path)
    arguments = parser.parse_args()
    if arguments.mermaid_only:
        return check_mermaid(arguments.paths)
    if arguments.measure:
        return measure(arguments.paths)
    arguments.out.mkdir(parents=True, exist_ok=True)
    for path in arguments.paths:
        markdown = markdown_of(path)
        for theme in THEMES:
            with tempfile.TemporaryDirectory() as folder:
                drawings = drawn(MERMAID.findall(markdown), theme, Path(folder))
                for is_open, width in [(False, 400), (False, 900), (True, 900)]:
                    document = Path(folder) / "page.html"
                    shown = page(markdown, theme, drawings, is_open, width)
                    document.write_text(shown, encoding="utf-8")
                    end = "-open" if is_open else ""
                    target = arguments.out.resolve() / f"{path.stem}-{theme}-{width}{end}.png"
                    shoot(document, width, target)
    return 0


if __name__ == "__main__":
    sys.exit(main())
