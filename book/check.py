#!/usr/bin/env python3
"""Every link inside the built book leads to a file of it, and to a heading that is there: `book/check.py target/book`."""
import html.parser
import pathlib
import sys
import urllib.parse


class Page(html.parser.HTMLParser):
    """Links and anchors of a page."""

    def __init__(self, path):
        super().__init__()
        self.links, self.anchors = [], set()
        self.feed(path.read_text())

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if name in ("href", "src") and value:
                self.links.append(value)
            elif name in ("id", "name") and value:
                self.anchors.add(value)


def dead(path, pages, root):
    """Links of a page that lead nowhere."""
    for link in pages[path].links:
        address = urllib.parse.urlsplit(link)
        if address.scheme or address.netloc or link.startswith("/"):
            continue
        there = (path.parent / urllib.parse.unquote(address.path)).resolve() if address.path else path
        if not there.exists():
            yield f"{path.relative_to(root)}: `{link}`: there is no such file"
        elif there in pages and address.fragment and urllib.parse.unquote(address.fragment) not in pages[there].anchors:
            yield f"{path.relative_to(root)}: `{link}`: there is no such heading"


def main():
    """Command line."""
    root = pathlib.Path(sys.argv[1]).resolve()
    # 404.html stands for any address, and its links begin at the root.
    pages = {path: Page(path) for path in root.rglob("*.html") if path.name != "404.html"}
    wrong = [problem for path in sorted(pages) for problem in dead(path, pages, root)]
    print("".join(f"book: {problem}\n" for problem in wrong), end="", file=sys.stderr)
    print(f"book: {len(pages)} pages, {sum(len(page.links) for page in pages.values())} links, {len(wrong)} dead")
    sys.exit(bool(wrong) or not pages)


if __name__ == "__main__":
    main()
