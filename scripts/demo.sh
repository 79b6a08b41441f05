#!/usr/bin/env bash
# From nothing to BLEU: makes a small corpus, trains a small RealFormer on it, averages its
# checkpoints, translates the test set, scores the translation and writes a model card.
#
#   scripts/demo.sh [--out DIR] [-- fairseq-train's options]
#
#   --out DIR    where everything goes (default: demo in the project)
#
# Sets up an environment first if there is none (scripts/setup.sh; VENV= chooses where). After that
# it takes at most 3 minutes on 2 cores. Started again, it goes on where it was stopped; delete --out
# to start afresh. The corpus is made by a grammar (data-prep/prepare-sample-en2fr.sh), so the score
# says that all parts work together, and nothing about translation of real text.
#
# Example
#
#   scripts/demo.sh --out /tmp/demo
#   scripts/demo.sh --out /tmp/without-residual -- --residual-attention none
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib/common.sh"

OUT="$PROJECT/demo"
while [[ $# -gt 0 ]]; do
  case "$1" in
    -h | --help) help_text; exit ;;
    --out) need_value "$1" $# "${2-}"; OUT="$2"; shift 2 ;;
    --) shift; break ;;
    *) die "unknown option '$1' (-h for help; fairseq-train's own options go after --)" ;;
  esac
done
CORPUS="$OUT/corpus" CHECKPOINTS="$OUT/checkpoints"

train() {
  if [[ -e "$OUT/training-is-done" ]]; then
    say "the training is done"
    return
  fi
  say "training a realformer_tiny for $UPDATES updates (log: '$OUT/train.log')"
  fairseq-train "$CORPUS/data-bin" --user-dir "$USER_DIR" --arch realformer_tiny \
    --task translation --source-lang en --target-lang fr --share-all-embeddings --dropout 0 \
    --criterion label_smoothed_cross_entropy --label-smoothing 0.1 \
    --optimizer adam --adam-betas '(0.9, 0.98)' --clip-norm 1.0 \
    --lr 3e-3 --lr-scheduler polynomial_decay --warmup-updates 150 \
    --total-num-update "$UPDATES" --max-update "$UPDATES" \
    --max-tokens 1000 --required-batch-size-multiple 1 --num-workers 0 --seed 1 \
    --save-dir "$CHECKPOINTS" --no-epoch-checkpoints \
    --save-interval-updates 50 --keep-interval-updates 3 --cpu \
    --log-format tqdm --log-file "$OUT/train.log" "$@"
  : >"$OUT/training-is-done"
}

UPDATES=450
set_up_if_needed
use_environment
keep_freed_memory
export PYTHONWARNINGS=ignore # fairseq's use of hydra and torch makes a screenful of them
make_folder --out "$OUT"
keep_options "$OUT" "demo, fairseq-train options: ${*:-none}"
"$PROJECT/data-prep/prepare-sample-en2fr.sh" --out "$CORPUS"

train "$@"

say "averaging the last 3 checkpoints"
"$PROJECT/scripts/average_checkpoints.sh" --inputs "$CHECKPOINTS" --num-update-checkpoints 3 \
  --output "$CHECKPOINTS/average.pt"

say "translating the test set"
"$PROJECT/scripts/translate.sh" --checkpoint "$CHECKPOINTS/average.pt" --data "$CORPUS/data-bin" \
  --input "$CORPUS/raw/test.en" --output "$OUT/test.translation" -- --cpu

say "some of it"
paste -d '\n' "$CORPUS/raw/test.en" "$OUT/test.translation" "$CORPUS/raw/test.fr" |
  awk -v every=100 '
    int((NR - 1) / 3) % every == 0 {
      kind = NR % 3 == 1 ? "source" : NR % 3 == 2 ? "translation" : "reference"
      printf "%-12s %s\n%s", kind, $0, kind == "reference" ? "\n" : ""
    }'

say "scores"
"$PROJECT/scripts/score_bleu.sh" --hyp "$OUT/test.translation" --ref "$CORPUS/raw/test.fr" --lang fr \
  --json "$OUT/scores.json"

say "model card: '$OUT/MODEL_CARD.md'"
LOG=() # is elsewhere if fairseq-train got another --log-file
[[ ! -e "$OUT/train.log" ]] || LOG=(--log "$OUT/train.log")
"$PROJECT/scripts/model_card.sh" --checkpoint "$CHECKPOINTS/average.pt" --data "$CORPUS/data-bin" \
  --scores "$OUT/scores.json" ${LOG[@]+"${LOG[@]}"} --output "$OUT/MODEL_CARD.md"
