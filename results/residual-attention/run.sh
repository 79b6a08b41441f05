#!/usr/bin/env bash
# Does residual attention help a small translation model? Trains the same model with and without it,
# on real text and the same batches, and scores each on the test set. On a CPU.
#
#   results/residual-attention/run.sh --corpus DIR [--out DIR] [options] [NAME...]
#
#   --corpus DIR   what data-prep/prepare-debian-en2fr.sh made
#   --out DIR      logs, checkpoints, translations (default: data/residual-attention in the project)
#   --seeds LIST   one training each               (default: "1 2")
#   --updates N    length of a training            (default: 1700)
#   --lr X         peak learning rate              (default: 2e-3)
#   --dropout X    of sub-layers and embeddings    (default: 0.1; of attention and activations none)
#   --jobs N       trainings at a time, a thread each (default: the number of cores)
#   --no-translation   train and validate only
#   NAME...        which of them                   (default: all)
#
#   fairseq-post-ln, fairseq-pre-ln          fairseq's own Transformer
#   none, mean, sum                          ours: without residual scores, their mean, their sum
#   encoder, decoder, cross                  ours: the mean, in this one of the three attentions
#   admin, admin-mean, admin-encoder, ...    ours on ADMIN
#
# What is done is not done again; what was interrupted goes on. A training takes about 30 minutes on
# one core. At the end there are curves.csv, table.md and loss.png of all that is there so far, and
# scores-SEED.json, whose comparisons are with `none`; those of scores-NAME-SEED.json with NAME.
#
# Example
#
#   results/residual-attention/run.sh --corpus data/debian-en2fr --seeds 1 none mean

# shellcheck disable=SC2329  # `job` calls the functions
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

ADMIN=(admin admin-mean admin-sum admin-encoder admin-decoder admin-cross)
ALL=(none mean fairseq-post-ln sum fairseq-pre-ln encoder decoder cross "${ADMIN[@]}")

options_of() { # name; prints the options in which the model differs
  local scaling=none
  case "$1" in
    fairseq-post-ln) echo "--arch transformer"; return ;;
    fairseq-pre-ln)
      echo "--arch transformer --encoder-normalize-before --decoder-normalize-before"
      return
      ;;
    admin | admin-*) scaling="admin" ;;
  esac
  echo "--arch realformer --sublayer-scaling $scaling"
  case "${1#admin-}" in
    none | admin) echo "--residual-attention none" ;;
    mean | sum) echo "--residual-attention ${1#admin-}" ;;
    encoder | decoder | cross) echo "--residual-attention mean --residual-chains ${1#admin-}" ;;
    *) return 1 ;;
  esac
}

CORPUS="" OUT="$PROJECT/data/residual-attention" SEEDS="1 2"
UPDATES=1700 LR=2e-3 DROPOUT=0.1 JOBS="$(cores)" NO_TRANSLATION=""
read_options "--corpus --out --seeds --updates --lr --dropout --jobs [--no-translation] NAME" "$@"
choose_names "${ALL[@]}"
[[ -n "$CORPUS" ]] || die "--corpus is needed (-h for help)"
for file in data-bin/dict.en.txt raw/test.en raw/test.fr; do
  need_file "--corpus $CORPUS" "$CORPUS/$file"
done
split_words SEEDS "$SEEDS"
for seed in "${SEEDS[@]}"; do need_count --seeds "$seed"; done
make_folder --out "$OUT"
make_absolute CORPUS OUT
use_environment
export OMP_NUM_THREADS=1
keep_freed_memory
keep_options "$OUT" "--corpus $CORPUS --updates $UPDATES --lr $LR --dropout $DROPOUT"
write_versions "$OUT/versions.txt"

train() { # name, seed, folder
  local options
  read -ra options <<<"$(options_of "$1" | tr '\n' ' ')"
  fairseq-train "$CORPUS/data-bin" --user-dir "$USER_DIR" "${options[@]}" \
    --task translation --source-lang en --target-lang fr --share-all-embeddings \
    --encoder-layers 3 --encoder-embed-dim 128 --encoder-ffn-embed-dim 256 \
    --encoder-attention-heads 4 --decoder-layers 3 --decoder-embed-dim 128 \
    --decoder-ffn-embed-dim 256 --decoder-attention-heads 4 --dropout "$DROPOUT" \
    --criterion label_smoothed_cross_entropy --label-smoothing 0.1 \
    --optimizer radam --adam-betas '(0.9, 0.98)' --clip-norm 0 \
    --lr "$LR" --lr-scheduler polynomial_decay --warmup-updates 400 --total-num-update "$UPDATES" \
    --max-tokens 2048 --max-tokens-valid 4096 --required-batch-size-multiple 1 \
    --max-update "$UPDATES" --seed "$2" --cpu --num-workers 0 \
    --save-dir "$3" --no-epoch-checkpoints --save-interval-updates 100 \
    --keep-interval-updates 4 --validate-interval-updates 100 \
    --log-format simple --log-interval 20
}

translate() { # folder
  "$PROJECT/scripts/average_checkpoints.sh" --inputs "$1" --num-update-checkpoints 4 \
    --output "$1/average.pt" &&
    "$PROJECT/scripts/translate.sh" --checkpoint "$1/average.pt" --data "$CORPUS/data-bin" \
      --input "$CORPUS/raw/test.en" --output "$1.fr" -- --cpu
}

# All of one training.
one() { # name, seed
  local run="$OUT/$1-$2"
  if [[ ! -e "$run.trained" ]]; then
    train "$1" "$2" "$run" >>"$run.log" 2>&1
    : >"$run.trained"
  fi
  [[ -n "$NO_TRANSLATION" || -e "$run.fr" ]] || translate "$run" >"$run.translation.log" 2>&1
}

trap stop_jobs INT TERM
for seed in "${SEEDS[@]}"; do
  for name in "${NAMES[@]}"; do job "$name, seed $seed" one "$name" "$seed"; done
done
failed=0
wait_for_jobs || failed=1

# The translations of a seed that are there, each against the baseline's.
score() { # seed, name of the figures, names with the baseline first
  local seed="$1" scores="$2" systems=() name
  for name in "${@:3}"; do
    [[ -e "$OUT/$name-$seed.fr" ]] && systems+=("$name-$seed.fr")
  done
  [[ "${systems[0]:-}" == "$3-$seed.fr" && ${#systems[@]} -gt 1 ]] || return 0
  say "scores of seed $seed against '$3'"
  (cd "$OUT" && "$PROJECT/scripts/score_bleu.sh" --hyp "${systems[@]}" \
    --ref "$CORPUS/raw/test.fr" --lang fr --json "$scores.json" | tee "$scores.txt")
}

for seed in "${SEEDS[@]}"; do
  score "$seed" "scores-$seed" "${ALL[@]}"
  score "$seed" "scores-admin-$seed" "${ADMIN[@]}"
  score "$seed" "scores-mean-$seed" mean sum cross
  score "$seed" "scores-admin-mean-$seed" admin-mean admin-sum admin-cross
done
python3 "$PROJECT/results/residual-attention/summarize.py" --runs "$OUT" --out "$OUT"
cat "$OUT/table.md"
exit "$failed"
