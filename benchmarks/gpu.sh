#!/usr/bin/env bash
# Measures training, memory and generation on a CUDA device, against fairseq's own Transformer.
#
#   benchmarks/gpu.sh [--device cuda|cpu] [--output FILE] [--json DIR]
#
#   --device cpu    try it without a GPU: the same steps, with tiny models and batches
#   --output FILE   keep what is printed there, too   (default: only print it)
#   --json DIR      a file of raw figures for each part, DEVICE-PART.json
#                   (default: benchmarks/raw in the project)
#
# Training: 5,000 tokens a batch, d 512, 6-6 and 60-12 layers, and 6-6 with sentences of 250 tokens,
# in bfloat16 and float16 autocast. Generation: beam 5, 1, 16 and 64 sentences, in float32 and
# float16. The kernel of --attention-kernel fused: its tests, which say whether it equals the single
# operations, and its speed beside theirs (mean). Takes less than 13 minutes on a data centre GPU:
# each part has a limit of its own, and one that fails or takes too long leaves the others as they
# are. The tables are those of benchmarks/README.md.
#
# Example
#
#   benchmarks/gpu.sh --output gpu.md
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../scripts/lib/common.sh"

DEVICE=cuda
OUTPUT=/dev/null
JSON="$PROJECT/benchmarks/raw"
while [[ $# -gt 0 ]]; do
  case "$1" in
    -h | --help) help_text; exit ;;
    --device) need_value "$1" $# "${2-}"; DEVICE="$2"; shift 2 ;;
    --output) need_value "$1" $# "${2-}"; OUTPUT="$2"; shift 2 ;;
    --json) need_value "$1" $# "${2-}"; JSON="$2"; shift 2 ;;
    *) die "unknown option '$1' (-h for help)" ;;
  esac
done
make_absolute OUTPUT JSON
[[ "$DEVICE" == cuda || "$DEVICE" == cpu ]] || die "--device: '$DEVICE' is not cuda or cpu"
: >"$OUTPUT" || die "--output '$OUTPUT': cannot write there"
make_folder --json "$JSON"

use_environment
if [[ "$DEVICE" == cuda ]]; then
  python3 -c 'import sys, torch; sys.exit(not torch.cuda.is_available())' ||
    die "--device cuda: torch finds no CUDA device (--device cpu tries the script without one)"
fi

part() { # seconds, name, module, arguments...
  local limit="$1" json="$JSON/$DEVICE-$2.json" status=0
  shift 2
  echo
  timeout "$limit" python3 -m "$@" --device "$DEVICE" --json "$json" || status=$?
  if [[ "$status" -ne 0 ]]; then
    printf '%s: exit code %s (124: it took more than %s s)\n' "$*" "$status" "$limit"
    touch "$FAILURE"
  fi
}

kernel() { # both are compiled first, a minute each
  printf '\nDoes the fused kernel equal the single operations? Its tests, compiled for this GPU:\n'
  timeout 240 python3 -m pytest -q -p no:cacheprovider -p no:xdist tests/test_fused_attention.py ||
    touch "$FAILURE"
  part 150 kernel benchmarks.training --shapes gpu-6-6,gpu-long,gpu-60-12 --contenders \
    fairseq,mean,fused --precision bf16 --rounds 7 --warm-up 3 --types 32000
}

measure() {
  local precision
  if [[ "$DEVICE" == cpu ]]; then
    part 300 training benchmarks.training --shapes tiny --rounds 1 --warm-up 1 --types 100 \
      --precision bf16
    part 300 generation benchmarks.generation --shapes tiny --batches 2 --rounds 1 --types 100 \
      --length 5
    return
  fi
  for precision in bf16 fp16; do
    part 70 "training-$precision" benchmarks.training --shapes gpu-6-6,gpu-long,gpu-60-12 \
      --precision "$precision" --rounds 7 --warm-up 3 --types 32000
  done
  kernel
  part 80 generation benchmarks.generation --shapes d512 --batches 1,16,64 --rounds 5 --types 32000
  part 60 generation-fp16 benchmarks.generation --shapes d512 --batches 16,64 --rounds 5 \
    --types 32000 --precision fp16
  part 60 training-no-dropout benchmarks.training --shapes gpu-6-6 --contenders fairseq,mean \
    --dropout 0 --precision bf16 --rounds 5 --warm-up 3 --types 32000
}

cd "$PROJECT"
# A file, since what runs left of a pipe cannot set a variable.
SCRATCH="$(mktemp -d)"
trap 'rm -rf "$SCRATCH"' EXIT
FAILURE="$SCRATCH/failure"
measure 2>&1 | tee "$OUTPUT"
[[ ! -e "$FAILURE" ]] || die "a part failed, see above"
