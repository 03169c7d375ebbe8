"""Hostile and ordinary text for the laws of rows."""

from hypothesis import strategies as st

FRAGMENTS = (
    " ", "  ", "\t", "\n", "\r\n", "\r", "\n\n", "\x0b", "\x0c", "\x1c", "\x1e", "\x85", "\u2028",
    "\u2029", "\u3000", "\xa0", "/", "//", "\\", "\\n", "-", "- [", "- [fact-123456] ",
    "- [+3 omitted] ", "[", "]", "(", ")", "(Observed 2026-01-01", "Conf: 1.0)", "# ", "## Identity\n",
    "> ", "```", "~~~", "`", "1. ", "* ", "---", "===", "|", "<", ">", "</", "<memory>", "</memory>",
    "</ Memory-block >", "<foreword-recall>", "</system>", "<user>", "＜memory＞", "<!--", "&lt;",
    "<|endoftext|>", "<|im_start|>", "<|", "|>", "'s", "'LL", "'", '"', "!", "?!", "...", "123",
    "1234567", "0", "a", "word", "Word", "WORD", "camelCase", "é", "e\u0301", "\u0301", "ß", "İ", "固",
    "你好", "こんにちは", "안녕", "ไทย", "ไท\u200bย", "नमस्ते", "क्\u200d", "سلام", "می\u200cخواهم",
    "שלום", "😀", "👩\u200d👩\u200d👧", "❤️", "1️⃣", "🏴\U000e0067\U000e0062\U000e007f", "\ufe0f",
    "\ufe00", "\U000e0100", "葛\U000e0100", "\u200b", "\u200c", "\u200d", "\u200e", "\u202e", "\u2066",
    "\u2069", "\ufeff", "\xad", "\u2060", "\u3164", "\U000e0041", "\x00", "\x07", "\x08", "\x1b[31m",
    "\x1b]0;t\x07", "\x7f", "\x9b", "\ud800", "\udfff", "\ufffd", "\uffff", "https://example.com/a?b=c",
    "def f():\n    return {1: [2]}\n", '{"a": [1, null]}', "SELECT *\nFROM t;", "a" * 40, " " * 40,
)  # fmt: skip

texts = st.lists(
    st.one_of(st.sampled_from(FRAGMENTS), st.text(max_size=6), st.characters(exclude_categories=[])),
    max_size=14,
).map("".join)

plain_words = st.lists(
    st.sampled_from(
        ["The", "user", "prefers", "tea", "naïve", "固定", "مرحبا", "x=1", "don't", "C++", "<b>"]
    ),
    min_size=1,
).map(" ".join)

rows = st.fixed_dictionaries(
    {
        "kind": st.sampled_from(["fact", "axiom", "preference", "distillate", "Odd Kind]\n"]),
        "id": st.one_of(st.uuids().map(str), st.text(max_size=8)),
        "content": texts,
        "observed": st.one_of(st.none(), st.dates().map(lambda day: day.isoformat())),
        "confidence": st.one_of(st.none(), st.floats(0, 1)),
    }
)
