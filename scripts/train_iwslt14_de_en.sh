#!/usr/bin/env bash
# Trains on IWSLT'14 German-English, and scores several seeds: what one GPU does in an evening.
#
#   scripts/train_iwslt14_de_en.sh [--model M] [--seeds "1 2 3 4 5"] [options]
#                                  [-- fairseq-train's options]
#
#   --seeds "N ..."        a training for each seed, one after the other, in --save-dir/seed-N. The
#                          last 10 epochs of each are averaged, and the test set is translated.
#                          Ends with the tokenised BLEU of each seed, their mean and their spread
#
# Seeds of one --save-dir are of one model, data, recipe and options after --; others are refused.
#
# The recipe is that of fairseq's examples/translation/README.md (scripts/lib/recipes.sh): 4,096
# tokens an update, 50 epochs. docs/iwslt14.md has the BLEU to expect. Started again, it goes on where
# it was stopped.
#
# Example
#
#   scripts/train_iwslt14_de_en.sh --model realformer --seeds "1 2 3 4 5" --save-dir iwslt/realformer
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib/common.sh"
source "$PROJECT/scripts/lib/training.sh"

# shellcheck disable=SC2034  # the file above reads it
CORPUS=iwslt14 SOURCE_LANG=de TARGET_LANG=en ROWS=6-6 KEEP_EPOCHS=10
SEEDS=() OPTIONS=()

take_seeds() { # text
  local seed
  split_words SEEDS "$1"
  [[ ${#SEEDS[@]} -gt 0 ]] || die "--seeds: '$1' has no numbers in it"
  for seed in "${SEEDS[@]}"; do
    need_count --seeds "$seed"
  done
  [[ -z "$(printf '%s\n' "${SEEDS[@]}" | sort | uniq -d)" ]] ||
    die "--seeds: '$1' has a number twice"
}

# Scores of one --save-dir are of the same options. GPUs and --max-tokens do not change an update.
check_seeds() {
  local word seed
  [[ "$NODES" == 1 ]] || die "--seeds: several machines train one seed, say -- --seed N"
  for word in ${EXTRA[@]+"${EXTRA[@]}"}; do
    [[ "${word%%=*}" != --seed ]] || die "--seed: with --seeds, a seed goes there, not after --"
  done
  OPTIONS_TO_KEEP="--model $MODEL --data $DATA --precision $PRECISION"
  OPTIONS_TO_KEEP+=" --epochs ${OWN_EPOCHS:-$EPOCHS}"
  OPTIONS_TO_KEEP+=" --effective-batch ${OWN_BATCH:-$EFFECTIVE_BATCH} -- ${EXTRA[*]-}"
  for seed in "${SEEDS[@]}"; do
    check_options "$SAVE_DIR/seed-$seed" "$OPTIONS_TO_KEEP" "" --save-dir
  done
}

# In a process of its own, which the training replaces.
train_seed() { # seed
  SHARED+=(--seed "$1") # fairseq takes the last one
  SAVE_DIR="$SAVE_DIR/seed-$1"
  train_chosen
}

# fairseq ends early, and without an error, at --stop-time-hours and --patience.
average_seed() { # folder
  local epochs=("$1"/checkpoint[0-9]*.pt) number="$AVERAGE"
  [[ -e "${epochs[0]}" ]] || die "--save-dir '$1': no checkpoint<epoch>.pt is there to average"
  : >"$1/training-is-done"
  if ((${#epochs[@]} < AVERAGE)); then
    number=${#epochs[@]}
    say "NOT THE RECIPE: the average of $number epochs instead of $AVERAGE"
  fi
  with_signals "$PROJECT/scripts/average_checkpoints.sh" --inputs "$1" \
    --num-epoch-checkpoints "$number" --output "$1/average.pt"
}

translate_test_set() { # folder
  local cpu=()
  use_environment
  [[ "$GPUS" != 0 ]] || cpu=(--cpu)
  export PYTHONWARNINGS=ignore # fairseq's use of hydra and torch makes a screenful of them
  say "translating the test set with '$1/average.pt'"
  with_signals fairseq-generate "$DATA" --user-dir "$USER_DIR" --path "$1/average.pt" \
    --task translation --source-lang "$SOURCE_LANG" --target-lang "$TARGET_LANG" \
    --gen-subset test --beam "$BEAM" --lenpen "$LENPEN" --max-tokens 4096 \
    --required-batch-size-multiple 1 --remove-bpe ${cpu[@]+"${cpu[@]}"} \
    >"$1/generate.log.tmp" || die "fairseq-generate failed"
  mv "$1/generate.log.tmp" "$1/generate.log"
}

# Prints the BLEU that fairseq-generate counts on the tokens, which is what papers quote.
bleu_of() { # folder
  sed -n 's/^Generate test .*BLEU4 = \([0-9.]*\),.*/\1/p' "$1/generate.log"
}

say_scores() {
  local seed
  for seed in "${SEEDS[@]}"; do
    printf '%s %s\n' "$seed" "$(bleu_of "$SAVE_DIR/seed-$seed")"
  done | python3 -c '
import statistics, sys
pairs = [line.split() for line in sys.stdin]
scores = [float(score) for _, score in pairs]
for seed, score in pairs:
    print(f"seed {seed}: BLEU {score}")
if len(scores) > 1:
    spread = statistics.stdev(scores)
    print(f"mean {statistics.mean(scores):.2f}, standard deviation {spread:.2f}")
'
}

train_seeds() {
  local seed folder
  for seed in "${SEEDS[@]}"; do
    folder="$SAVE_DIR/seed-$seed"
    [[ -e "$folder/training-is-done" ]] || with_signals train_seed "$seed"
    ! "$DRY_RUN" || continue
    [[ -e "$folder/average.pt" ]] || average_seed "$folder"
    [[ -e "$folder/generate.log" ]] || with_signals translate_test_set "$folder"
  done
  "$DRY_RUN" || (use_environment; say_scores)
}

while [[ $# -gt 0 ]]; do
  case "$1" in
    --seeds) need_value "$1" $# "${2-}"; take_seeds "$2"; shift 2 ;;
    --) OPTIONS+=("$@"); break ;;
    *) OPTIONS+=("$1"); shift ;;
  esac
done
training_options ${OPTIONS[@]+"${OPTIONS[@]}"}
choose_recipe
if [[ ${#SEEDS[@]} == 0 ]]; then
  train_chosen
else
  check_seeds
  train_seeds
fi
