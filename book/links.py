"""A preprocessor of mdBook: links that leave `docs/` lead to the repository, since what they name is no page of the book."""
import json
import pathlib
import posixpath
import re
import sys

REPOSITORY = "https://github.com/homenode/homenode"
LINK = re.compile(r"(?<=\]\()[^)\s#]+(?=[)#])")
ROOT = pathlib.Path(__file__).resolve().parent.parent


def target(page, link):
    """Where a link of the page `page` of docs/ leads in the book."""
    path = posixpath.normpath(posixpath.join("docs", posixpath.dirname(page), link))
    if "://" in link or path.startswith("docs/") and not (ROOT / path).is_dir():
        return link
    return f"{REPOSITORY}/{'tree' if (ROOT / path).is_dir() else 'blob'}/main/{path}"


def rewrite(items):
    """Rewrites the links of all chapters."""
    for item in items:
        chapter = item.get("Chapter") if isinstance(item, dict) else None
        if chapter:
            page = chapter["path"] or ""
            chapter["content"] = LINK.sub(lambda found: target(page, found[0]), chapter["content"])
            rewrite(chapter["sub_items"])


def main():
    """As mdBook asks: `supports RENDERER`, or a book on standard input."""
    if sys.argv[1:2] == ["supports"]:
        return
    _, book = json.load(sys.stdin)
    rewrite(book["items"])
    json.dump(book, sys.stdout)


if __name__ == "__main__":
    main()
