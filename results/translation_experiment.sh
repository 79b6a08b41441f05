# shellcheck shell=bash
# What the experiments with translation models share: trains models with several seeds on the same
# batches of real text, translates the test set with each, scores, and summarizes. To be sourced by
# a run.sh, after `set -euo pipefail`; it sets these, calls `run_experiment "$@"`, and its help names
# the options.
#
#   ALL       the models it knows, and their order; those of `options_of`
#   LAYERS    of encoder and decoder, such as 3-3
#   WIDTH     d; the FFN has twice as many, and there are 4 heads
#   UPDATES   length of a training
#   WARMUP    updates until the learning rate is at its peak; in a short training a quarter of all
#   INTERVAL  updates between validations, and between the checkpoints of which four are averaged
#   LR        peak learning rates

# shellcheck disable=SC2329,SC2034  # `job` calls the functions, a run.sh reads FAILED
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

VALID_LOSS="'valid' subset .* nll_loss"

options_of() { # name; prints the options in which the model differs
  local scaling=none
  case "$1" in
    fairseq-post-ln) echo "--arch transformer"; return ;;
    fairseq-pre-ln)
      echo "--arch transformer --encoder-normalize-before --decoder-normalize-before"
      return
      ;;
    deepnorm | admin-analytic) scaling="$1" ;;
    admin | admin-*) scaling="admin" ;;
  esac
  echo "--arch realformer --sublayer-scaling $scaling"
  case "${1#admin-}" in
    none | admin | deepnorm | analytic) echo "--residual-attention none" ;;
    mean | sum) echo "--residual-attention ${1#admin-}" ;;
    encoder | decoder | cross) echo "--residual-attention mean --residual-chains ${1#admin-}" ;;
    *) return 1 ;;
  esac
}

read_experiment() { # the command line
  CORPUS="" SEEDS="1 2" DROPOUT=0.1 JOBS="$(cores)" NO_TRANSLATION=""
  local accepted="--corpus --out --layers --seeds --updates --lr --dropout --jobs [--no-translation]"
  read_options "$accepted NAME" "$@"
  choose_names "${ALL[@]}"
  [[ -n "$CORPUS" ]] || die "--corpus is needed (-h for help)"
  local file
  for file in data-bin/dict.en.txt raw/test.en raw/test.fr; do
    need_file "--corpus $CORPUS" "$CORPUS/$file"
  done
  [[ "$LAYERS" =~ ^[1-9][0-9]*-[1-9][0-9]*$ ]] || die "--layers $LAYERS: two numbers, such as 60-12"
  local least=$((4 * INTERVAL))
  need_count --updates "$UPDATES"
  [[ "$UPDATES" -ge "$least" ]] ||
    die "--updates $UPDATES: at least $least, four checkpoints $INTERVAL updates apart"
  split_words RATES "$LR"
  [[ ${#RATES[@]} -gt 0 ]] || die "--lr: a list without numbers"
  begin_experiment
  local kept="--corpus $CORPUS --layers $LAYERS --updates $UPDATES"
  keep_options "$OUT" "$kept --lr $LR --dropout $DROPOUT"
  write_versions "$OUT/versions.txt"
}

train() { # name, seed, learning rate, updates, updates of warm-up, folder, further options...
  local words options stack
  words="$(options_of "$1")"
  split_words options "$words"
  for stack in encoder decoder; do
    options+=("--$stack-embed-dim" "$WIDTH" "--$stack-ffn-embed-dim" "$((2 * WIDTH))")
    options+=("--$stack-attention-heads" 4)
  done
  options+=(--encoder-layers "${LAYERS%-*}" --decoder-layers "${LAYERS#*-}")
  fairseq-train "$CORPUS/data-bin" --user-dir "$USER_DIR" "${options[@]}" \
    --task translation --source-lang en --target-lang fr --share-all-embeddings \
    --dropout "$DROPOUT" --criterion label_smoothed_cross_entropy --label-smoothing 0.1 \
    --optimizer radam --adam-betas '(0.9, 0.98)' --clip-norm 0 \
    --lr "$3" --lr-scheduler polynomial_decay --warmup-updates "$5" --total-num-update "$4" \
    --max-tokens 2048 --max-tokens-valid 4096 --required-batch-size-multiple 1 \
    --max-update "$4" --seed "$2" --cpu --num-workers 0 \
    --save-dir "$6" --log-format simple --log-interval 10 "${@:7}"
}

# A tenth of a training.
train_briefly() { # name, learning rate, folder
  train "$1" 1 "$2" "$((UPDATES / 10))" "$((UPDATES / 40))" "$3" --no-save
}

translate() { # folder
  "$PROJECT/scripts/average_checkpoints.sh" --inputs "$1" --num-update-checkpoints 4 \
    --output "$1/average.pt" &&
    "$PROJECT/scripts/translate.sh" --checkpoint "$1/average.pt" --data "$CORPUS/data-bin" \
      --input "$CORPUS/raw/test.en" --output "$1.fr" -- --cpu
}

# All of one training.
one() { # name, seed
  local run="$OUT/$1-$2" rate
  rate="$(rate_of "$1" "${RATES[@]}")"
  if [[ ! -e "$run.trained" ]]; then
    train "$1" "$2" "$rate" "$UPDATES" "$WARMUP" "$run" --no-epoch-checkpoints \
      --save-interval-updates "$INTERVAL" --keep-interval-updates 4 \
      --validate-interval-updates "$INTERVAL" >>"$run.log" 2>&1
    : >"$run.trained"
  fi
  [[ -n "$NO_TRANSLATION" || -e "$run.fr" ]] || translate "$run" >"$run.translation.log" 2>&1
}

# The translations of a seed that are there, each against the baseline's.
score() { # seed, baseline
  local systems=("$2-$1.fr") name
  [[ -e "$OUT/$2-$1.fr" ]] || return 0
  for name in "${ALL[@]}"; do
    [[ "$name" == "$2" || ! -e "$OUT/$name-$1.fr" ]] || systems+=("$name-$1.fr")
  done
  [[ ${#systems[@]} -gt 1 ]] || return 0
  say "scores of seed $1 against '$2'"
  (cd "$OUT" && "$PROJECT/scripts/score_bleu.sh" --hyp "${systems[@]}" \
    --ref "$CORPUS/raw/test.fr" --lang fr --json "scores-$2-$1.json" | tee "scores-$2-$1.txt")
}

# Sets FAILED to 1 if a training has not come to its end.
run_experiment() { # the command line
  local seed name
  read_experiment "$@"
  trap stop_jobs INT TERM
  FAILED=0
  for name in "${NAMES[@]}"; do try_rates "$name" "${RATES[@]}"; done
  wait_for_jobs || FAILED=1
  for seed in "${SEEDS[@]}"; do
    for name in "${NAMES[@]}"; do job "$name, seed $seed" one "$name" "$seed"; done
  done
  wait_for_jobs || FAILED=1
  for seed in "${SEEDS[@]}"; do
    for name in none admin mean admin-mean; do score "$seed" "$name"; done
  done
  python3 -m results.translation_table --runs "$OUT" --out "$OUT"
  cat "$OUT/table.md"
}
