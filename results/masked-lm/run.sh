#!/usr/bin/env bash
# Does residual attention help a small masked language model of 12 layers? Trains the same model
# with and without it, on real text, and fine-tunes each: which kind of source is a sentence from?
# On a CPU.
#
#   results/masked-lm/run.sh --corpus DIR [--out DIR] [options] [NAME...]
#
#   --corpus DIR   what data-prep/prepare-debian-en2fr.sh made
#   --out DIR      data, logs, checkpoints         (default: data/masked-lm in the project)
#   --languages L  sides of the corpus             (default: "en fr")
#   --seeds LIST   one training each               (default: "1 2")
#   --updates N    length of a training            (default: 4000)
#   --jobs N       trainings at a time, a thread each (default: the number of cores)
#   NAME...        which of them                   (default: all)
#
#   fairseq-post-ln, fairseq-pre-ln   fairseq's own RoBERTa
#   none, mean, sum                   ours: without residual scores, their mean, their sum
#   mean-half, sum-half               the same in half of the updates
#   fairseq-post-ln-long, mean-long, sum-long   the same in three times as many
#
# What is done is not done again; what was interrupted goes on. The learning rate of each is the best
# of three in short trainings, on the English side. A training takes about 10 minutes on one core.
# At the end there are curves.csv, final.csv, rates.csv, table.md, accuracy.png and, of the attention,
# attention.md of all that is there so far.
#
# Example
#
#   results/masked-lm/run.sh --corpus data/debian-en2fr --languages en --seeds 1 none sum

# shellcheck disable=SC2329  # `job` calls the functions
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

ALL=(
  fairseq-post-ln sum mean fairseq-pre-ln sum-half mean-half none
  fairseq-post-ln-long sum-long mean-long
)
VALID_LOSS="'valid' subset | loss"
MASKS=(11 12 13 14 15) # seeds of the masks that final accuracy is the mean over

rates_of() { # name; prints the learning rates that are tried
  case "$1" in
    fairseq-pre-ln) echo 5e-4 1e-3 2e-3 4e-3 ;; # of the usual three the lowest was the best
    *) echo 1e-3 2e-3 4e-3 ;;
  esac
}

options_of() { # name; prints the options in which the model differs
  case "$1" in
    fairseq-post-ln) echo "--arch roberta" ;;
    fairseq-pre-ln) echo "--arch roberta_prenorm" ;;
    none | mean | sum) echo "--arch realformer_masked_lm --residual-attention $1" ;;
    *-half | *-long) options_of "$(model_of "$1")" ;;
    *) return 1 ;;
  esac
}

model_of() { # name; prints it without how long it trains
  local name="${1%-half}"
  echo "${name%-long}"
}

updates_of() { # name
  case "$1" in
    *-half) echo "$((UPDATES / 2))" ;;
    *-long) echo "$((UPDATES * 3))" ;;
    *) echo "$UPDATES" ;;
  esac
}

CORPUS="" OUT="$PROJECT/data/masked-lm" LANGUAGES="en fr" SEEDS="1 2"
UPDATES=4000 JOBS="$(cores)"
read_options "--corpus --out --languages --seeds --updates --jobs NAME" "$@"
choose_names "${ALL[@]}"
split_words LANGUAGES "$LANGUAGES"
[[ -n "$CORPUS" ]] || die "--corpus is needed (-h for help)"
for language in "${LANGUAGES[@]}"; do need_file "--corpus $CORPUS" "$CORPUS/bpe/train.$language"; done
need_file "--corpus $CORPUS" "$CORPUS/raw/train.src"
begin_experiment
keep_options "$OUT" "--corpus $CORPUS --updates $UPDATES"
write_versions "$OUT/versions.txt"

# Of one language: data for the masked language model, and for the classification, whose labels are
# the first words of the lines of *.src, the kind of source.
prepare() { # language
  local data="$OUT/$1/data-bin" classes="$OUT/$1/classes" split
  [[ ! -e "$OUT/$1/prepared" ]] || return 0
  say "data of $1"
  rm -rf "$data" "$classes"
  mkdir -p "$classes/text"
  for split in train valid test; do cut -f1 "$CORPUS/raw/$split.src" >"$classes/text/$split"; done
  binarize "$CORPUS/bpe/%s.$1" "$data"
  binarize "$CORPUS/bpe/%s.$1" "$classes/input0" --srcdict "$data/dict.txt"
  binarize "$classes/text/%s" "$classes/label"
  : >"$OUT/$1/prepared"
}

binarize() { # path of text with %s for the split, folder, options...
  # shellcheck disable=SC2059
  fairseq-preprocess --only-source --trainpref "$(printf "$1" train)" \
    --validpref "$(printf "$1" valid)" --testpref "$(printf "$1" test)" --destdir "$2" \
    "${@:3}" >>"$OUT/preprocess.log" 2>&1
}

COMMON=(
  --user-dir "$USER_DIR" --max-positions 128 --shorten-method truncate
  --encoder-layers 12 --encoder-embed-dim 64 --encoder-ffn-embed-dim 256
  --encoder-attention-heads 4 --activation-fn gelu_accurate --dropout 0 --attention-dropout 0
  --optimizer adam --adam-betas "(0.9, 0.98)" --adam-eps 1e-6 --weight-decay 0.01 --clip-norm 0
  --required-batch-size-multiple 1 --cpu --num-workers 0 --log-format simple
)

# fairseq puts <s> before what it has cut, so that long sentences are one too long, and left out.
train() { # name, language, seed, learning rate, updates, further options...
  local options
  read -ra options <<<"$(options_of "$1")"
  fairseq-train "$OUT/$2/data-bin" "${COMMON[@]}" "${options[@]}" \
    --task masked_lm --criterion masked_lm_with_accuracy --sample-break-mode eos \
    --tokens-per-sample 128 --max-tokens 1024 --max-tokens-valid 4096 --log-interval 50 \
    --skip-invalid-size-inputs-valid-test \
    --lr "$4" --lr-scheduler polynomial_decay --warmup-updates "$(($5 / 10))" \
    --total-num-update "$5" --max-update "$5" --seed "$3" "${@:6}"
}

train_briefly() { # name, learning rate, folder
  train "$1" en 1 "$2" "$((UPDATES / 5))" --no-save --save-dir "$3"
}

# Pre-training, its accuracy on the test set, and fine-tuning.
one() { # name, language, seed
  local run="$OUT/$2/$1-$3" updates mask rates rate
  updates="$(updates_of "$1")"
  read -ra rates <<<"$(rates_of "$(model_of "$1")")"
  rate="$(rate_of "$(model_of "$1")" "${rates[@]}")"
  if [[ ! -e "$run.trained" ]]; then
    train "$1" "$2" "$3" "$rate" "$updates" --save-dir "$run" --no-epoch-checkpoints \
      --save-interval-updates 1000 --keep-interval-updates 1 \
      --validate-interval-updates 250 >>"$run.log" 2>&1
    : >"$run.trained"
  fi
  if [[ ! -e "$run.validated" ]]; then
    for mask in "${MASKS[@]}"; do
      fairseq-validate "$OUT/$2/data-bin" --user-dir "$USER_DIR" --task masked_lm --cpu \
        --num-workers 0 --path "$run/checkpoint_last.pt" --valid-subset test --max-tokens 4096 \
        --seed "$mask" --log-format simple
    done >"$run.validated.tmp" 2>&1
    mv "$run.validated.tmp" "$run.validated"
  fi
  if [[ ! -e "$run.classified" ]]; then
    classify "$1" "$2" "$3" "$run/checkpoint_last.pt" >"$run.classified.tmp" 2>&1
    mv "$run.classified.tmp" "$run.classified"
  fi
  [[ -e "$run.attention/attention.csv" ]] ||
    "$PROJECT/scripts/analyze_attention.sh" --checkpoint "$run/checkpoint_last.pt" --cpu \
      --data "$OUT/$2/data-bin" --gen-subset valid --out "$run.attention" --title "$1" \
      >>"$run.log" 2>&1
}

yardstick() { # language
  [[ -e "$OUT/$1/yardstick.csv" ]] && return
  python3 "$PROJECT/results/masked-lm/yardstick.py" --corpus "$CORPUS" --language "$1" \
    >"$OUT/$1/yardstick.csv.tmp"
  mv "$OUT/$1/yardstick.csv.tmp" "$OUT/$1/yardstick.csv"
}

classify() { # name, language, seed, checkpoint
  local options classes
  read -ra options <<<"$(options_of "$1")"
  classes="$(wc -l <"$OUT/$2/classes/label/dict.txt")"
  fairseq-train "$OUT/$2/classes" "${COMMON[@]}" "${options[@]}" \
    --task sentence_prediction --criterion sentence_prediction --num-classes "$classes" \
    --init-token 0 --separator-token 2 --restore-file "$4" --reset-optimizer --reset-dataloader \
    --reset-meters --reset-lr-scheduler --no-save --save-dir "${4%/*}/classes" \
    --batch-size 32 --valid-subset valid,test --lr 5e-4 --lr-scheduler polynomial_decay \
    --warmup-updates 60 --total-num-update 600 --max-update 600 --seed "$3" --log-interval 50
}

trap stop_jobs INT TERM
for language in "${LANGUAGES[@]}"; do prepare "$language"; done
[[ -e "$OUT/en/prepared" ]] || prepare en
for language in "${LANGUAGES[@]}"; do job "yardstick of $language" yardstick "$language"; done
mapfile -t models < <(for name in "${NAMES[@]}"; do model_of "$name"; done | sort -u)
for name in "${models[@]}"; do
  read -ra rates <<<"$(rates_of "$name")"
  try_rates "$name" "${rates[@]}"
done
failed=0
wait_for_jobs || failed=1
for seed in "${SEEDS[@]}"; do
  for language in "${LANGUAGES[@]}"; do
    for name in "${NAMES[@]}"; do
      job "$name, $language, seed $seed" one "$name" "$language" "$seed"
    done
  done
done
wait_for_jobs || failed=1
python3 "$PROJECT/results/masked-lm/summarize.py" --runs "$OUT" --out "$OUT"
python3 "$PROJECT/results/masked-lm/attention_bins.py" --runs "$OUT" >"$OUT/attention.md.tmp"
mv "$OUT/attention.md.tmp" "$OUT/attention.md"
cat "$OUT/table.md" "$OUT/attention.md"
exit "$failed"
