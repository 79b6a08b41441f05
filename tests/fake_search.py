"""A stand-in for fairseq-interactive."""

# Every line comes back with "ok", in a strange order and with a second hypothesis; one by one with
# --buffer-size 1.
SEARCH = """#!{python}
import sys
def answer(number, line):
    if line == "crash":
        print("ValueError: as asked for", file=sys.stderr)
        sys.exit(3)
    if line != "lost":
        text = (line + " ").replace("@@ ", "") + "ok"
        print(f"S-{{number}}\\t{{line}}\\nH-{{number}}\\t-0.1\\t{{text}}", flush=True)
        print(f"H-{{number}}\\t-0.2\\tsecond", flush=True)
options = dict(zip(sys.argv, sys.argv[1:]))
print("INFO | " + " ".join(sys.argv))
if options["--buffer-size"] == "1":
    for number, line in enumerate(iter(sys.stdin.readline, "")):
        answer(number, line.rstrip("\\n"))
else:
    lines = sys.stdin.read().split("\\n")[:-1]
    assert lines == sorted(lines, key=lambda line: -len(line.split()))
    for number in sorted(range(len(lines)), key=lambda n: (n * 7) % 5):
        answer(number, lines[number])
"""
