"""The page for trying the service by hand."""

import base64
import hashlib
import html
import re
from pathlib import Path
from typing import Dict, Tuple

from ..command_line import UserError
from ..text.languages import language_code

TEMPLATE = Path(__file__).with_name("page.html")
RIGHT_TO_LEFT = frozenset("ar arc azb ckb dv fa he pnb ps sd syr ug ur yi".split())
RIGHT_TO_LEFT_SCRIPTS = frozenset("arab hebr nkoo syrc thaa".split())


def direction(lang: str) -> str:
    """The direction of a language's writing, ``ltr`` or ``rtl``."""
    parts = re.split("[-_]", lang.lower())
    scripts = [part for part in parts[1:] if len(part) == 4 and part.isalpha()]
    try:
        code = language_code(lang)
    except UserError:
        code = parts[0]
    if scripts:
        return "rtl" if scripts[0] in RIGHT_TO_LEFT_SCRIPTS else "ltr"
    return "rtl" if code in RIGHT_TO_LEFT else "ltr"


def hash_of(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def page_of(source_lang: str, target_lang: str) -> Tuple[bytes, Dict[str, str]]:
    """The page and its headers, with a policy that lets it run nothing but its own script."""
    text = TEMPLATE.read_text("utf-8")
    style = re.search("<style>(.*?)</style>", text, re.DOTALL)
    script = re.search("<script>(.*?)</script>", text, re.DOTALL)
    policy = (
        f"default-src 'none'; script-src {hash_of(script[1])}; style-src {hash_of(style[1])}; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    for name, lang in (("source", source_lang), ("target", target_lang)):
        tag = html.escape(lang.replace("_", "-"))
        attributes = f'lang="{tag}" dir="{direction(lang)}"'
        text = text.replace(f"{{{name}-attributes}}", attributes)
        text = text.replace(f"{{{name}}}", tag)
    headers = {"Content-Type": "text/html; charset=utf-8", "Content-Security-Policy": policy}
    return text.encode("utf-8"), headers
