#!/usr/bin/env bash
# Translates over HTTP with an exported model: JSON in, JSON out, and a page to try it by hand.
#
#   scripts/serve.sh --onnx FOLDER [options]
#
#   --onnx FOLDER        what scripts/export_onnx.sh made; several as a:b are an ensemble
#   --host HOST          address to listen at         (default: 127.0.0.1, this machine only)
#   --port N             0 for a free one             (default: 8080)
#   --threads N          that translate               (default: as many as there are cores)
#   --max-waiting N      lines that wait at a time; more are refused (default: 1000)
#   --max-bytes N        of a request's body          (default: 1048576)
#
#   POST /translate      {"lines": ["The cat sleeps."]} gives {"translations": ["Le chat dort."]}.
#                        Further fields: "overlong" as in translate.sh, "beam", "lenpen" and other
#                        options of the search, with underscores. Lines that wait at the same time
#                        with the same options are translated together.
#   GET /health          the model, how many lines wait, and how many were translated
#   GET /                the page
#
# Errors are {"error": "..."} with a status of HTTP: 413 for too much in one request, 429 while too
# much is waiting, 503 while the service stops. The URL goes to standard error once it answers, and
# then a line for each request, without its text. After Ctrl-C or SIGTERM, what waits is still
# answered, as far as that takes seconds only.
#
# Nobody is asked for a password, and nothing is encrypted: for others than this machine, put a web
# server in front that does so.
#
# Example
#
#   scripts/serve.sh --onnx demo/onnx &
#   curl -H 'Content-Type: application/json' -d '{"lines": ["The cat sleeps."]}' \
#     http://127.0.0.1:8080/translate
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib/common.sh"
# shellcheck disable=SC2034  # common.sh reads it
NEEDED_MODULES="$ENGINE_MODULES"
run_module realformer_runtime.engine.server "$@"
