"""Pages of reports, read back."""

from html.parser import HTMLParser

VOID = {"meta", "img"}


class Page(HTMLParser):
    """What a page holds: texts, attributes, tables as rows of cells; and whether its tags are balanced."""

    def __init__(self, text):
        super().__init__()
        self.open, self.texts, self.attributes, self.rows = [], [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.attributes += [(tag, name, value) for name, value in attrs]
        if tag not in VOID:
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)
        if self.open and self.open[-1] in ("td", "th"):
            self.rows[-1][-1] += data

    def of(self, tag, name):
        return [value for found, key, value in self.attributes if (found, key) == (tag, name)]
