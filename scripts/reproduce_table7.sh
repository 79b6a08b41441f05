#!/usr/bin/env bash
# One row of RealFormer's Table 7: prepares, trains, averages, translates and scores, and writes a
# model card.
#
#   scripts/reproduce_table7.sh --row ROW [--model M] [options] [-- options of the training script]
#
#   --row ROW         de-6-6, de-12-12, de-18-18, fr-6-6 or fr-60-12
#   --model M         realformer (on ADMIN; default), admin, pre-ln or post-ln; or realformer-none: as
#                     realformer in all but the scores
#   --against DIR     --out of another model that is done, such as the control: sacrebleu's paired
#                     bootstrap compares the two translations; repeated as often as needed
#   --out DIR         checkpoints, translation, scores and MODEL_CARD.md
#                     (default: data/table7/ROW-MODEL in the project)
#   --corpus NAME     wmt14 (default), or debian to try the way with 133,000 real pairs (fr only)
#   --corpus-dir DIR  where the prepared corpus is or will be (default: where its script puts it)
#   --corpora DIR     archives, or for debian the text, that are already there
#   --scale S         paper (default); cpu: a small model, two epochs, for a machine without a GPU
#   --gpus N          on this machine (default: all; with --scale cpu none)
#   --jobs N          processes for preparing the corpus (default: the number of cores)
#   --dry-run         print the plan: every command, GPUs, updates, hours and disk
#   -- ...            everything after it goes to scripts/train_wmt14_en_*.sh, for example
#                     --max-tokens or, after another --, options of fairseq-train
#
# A step that is done is not done again, one that was interrupted goes on. On several machines train
# with scripts/train_wmt14_en_fr.sh and its --nodes, into --out/checkpoints; when that is done,
# `touch` training-is-done in --out and run this for the rest.
#
# Examples
#
#   scripts/reproduce_table7.sh --row fr-60-12 --dry-run
#   scripts/reproduce_table7.sh --row fr-6-6 --against data/table7/fr-6-6-realformer-none
#   scripts/reproduce_table7.sh --row fr-6-6 --corpus debian --scale cpu --out /tmp/fr-6-6
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib/common.sh"
source "$PROJECT/scripts/lib/recipes.sh"

# Options of the training script, and after another -- those of fairseq-train.
after_the_options() {
  while [[ $# -gt 0 && "$1" != -- ]]; do
    case "$1" in
      --row | --model | --gpus | --dry-run | -h | --help) die "$1 goes before --" ;;
      --data | --save-dir) die "$1 is set by this script: see --corpus-dir and --out" ;;
    esac
    TRAINING_OPTIONS+=("$1")
    shift
  done
  GIVEN=("${@:2}")
}

# A training that was told to be shorter has fewer epochs to average.
average_no_more_than_there_are() {
  local number
  for ((number = 0; number < ${#TRAINING_OPTIONS[@]} - 1; number++)); do
    [[ "${TRAINING_OPTIONS[number]}" == --epochs ]] || continue
    need_count --epochs "${TRAINING_OPTIONS[number + 1]}"
    EPOCHS="${TRAINING_OPTIONS[number + 1]}"
    AVERAGE=$((AVERAGE < EPOCHS ? AVERAGE : EPOCHS))
  done
}

comparison_with() { # baseline; prints the name of its file
  echo "against-$(basename "$(cd "$1" && pwd)").json"
}

add_baseline() { # folder
  local baseline name
  need_file "--against $1" "$1/generate.log"
  name="$(comparison_with "$1")"
  for baseline in ${BASELINES[@]+"${BASELINES[@]}"}; do
    [[ "$(comparison_with "$baseline")" != "$name" ]] ||
      die "--against '$baseline' and '$1': both comparisons would be $name in --out"
  done
  BASELINES+=("$1")
}

ROWS="de-6-6 de-12-12 de-18-18 fr-6-6 fr-60-12"
ROW="" MODEL=realformer OUT="" CORPUS=wmt14 CORPUS_DIR="" CORPORA="" SCALE=paper GPUS=""
JOBS="$(cores)" DRY_RUN=false TRAINING_OPTIONS=() FAIRSEQ_OPTIONS=() GIVEN=()
BASELINES=()
while [[ $# -gt 0 ]]; do
  case "$1" in
    -h | --help) help_text; exit ;;
    --dry-run) DRY_RUN=true; shift; continue ;;
    --) shift; after_the_options "$@"; break ;;
    --against) OPTIONS_GIVEN="${OPTIONS_GIVEN// --against / }" ;; # may be repeated
  esac
  need_value "$1" $# "${2-}"
  case "$1" in
    --row) ROW="$2" ;;
    --model) MODEL="$2" ;;
    --out) OUT="$2" ;;
    --against) add_baseline "$2" ;;
    --corpus) CORPUS="$2" ;;
    --corpus-dir) CORPUS_DIR="$2" ;;
    --corpora) CORPORA="$2" ;;
    --scale) SCALE="$2" ;;
    --gpus) need_number "$1" "$2"; GPUS="$2" ;;
    --jobs) need_count "$1" "$2"; JOBS="$2" ;;
    *) die "unknown option '$1' (-h for help; options of the training go after --)" ;;
  esac
  shift 2
done

# HOURS on the A100 GPUs of the recipe: Table 11 of the paper, which has only these two models.
# ESTIMATE, until the training script can count in the data (which is how the updates of de- rows are
# found): 29 checkpoints of 12 bytes a parameter (8 for the state of RAdam); 63, 107, 151, 67 and 262
# million parameters.
costs() { # row
  local de="corpus 9 GB, checkpoints" fr="updates; corpus 80 GB, checkpoints"
  case "$1" in
    de-6-6) HOURS="9.3 (ADMIN), 9.4 (RealFormer)" ESTIMATE="$de 22 GB" ;;
    de-12-12) HOURS="16, 16" ESTIMATE="$de 37 GB" ;;
    de-18-18) HOURS="23, 23" ESTIMATE="$de 53 GB" ;;
    fr-6-6) HOURS="28, 28" ESTIMATE="about 110,000 $fr 23 GB" ;;
    fr-60-12) HOURS="70 (ADMIN), 72 (RealFormer)" ESTIMATE="about 55,000 $fr 91 GB" ;;
  esac
}

check_choices() {
  [[ -n "$ROW" && " $ROWS " == *" $ROW "* ]] || die "--row: '$ROW' is not one of $ROWS"
  [[ " $RECIPE_MODELS " == *" $MODEL "* ]] || die "--model: '$MODEL' is not one of $RECIPE_MODELS"
  [[ "$CORPUS" =~ ^(wmt14|debian)$ ]] || die "--corpus: '$CORPUS' is not one of wmt14, debian"
  [[ "$SCALE" =~ ^(paper|cpu)$ ]] || die "--scale: '$SCALE' is not one of paper, cpu"
  [[ "$CORPUS $ROW" != "debian de-"* ]] || die "--corpus debian is English-French: not --row $ROW"
}

# Sets LANGUAGE, the commands PREPARE, TRAIN, AVERAGE_THEM, GENERATE, DESCRIBE, and what is
# left open of CORPUS_DIR and OUT.
choose_commands() {
  LANGUAGE="${ROW%%-*}"
  recipe "en-$LANGUAGE" "${ROW#*-}" "$MODEL"
  CORPUS_DIR="${CORPUS_DIR:-$PROJECT/data/$CORPUS-en2$LANGUAGE}"
  OUT="${OUT:-$PROJECT/data/table7/$ROW-$MODEL}"
  make_absolute OUT CORPUS_DIR CORPORA
  local texts=--corpora script="$PROJECT/data-prep/prepare-${CORPUS}en2$LANGUAGE.sh"
  if [[ "$CORPUS" == debian ]]; then
    texts=--corpus script="$PROJECT/data-prep/prepare-debian-en2fr.sh"
  fi
  PREPARE=("$script" --out "$CORPUS_DIR" --jobs "$JOBS" ${CORPORA:+"$texts" "$CORPORA"})
  TRAIN=("$PROJECT/scripts/train_wmt14_en_$LANGUAGE.sh" --row "${ROW#*-}" --model "$MODEL"
    --data "$CORPUS_DIR/data-bin" --save-dir "$OUT/checkpoints")
  if [[ "$SCALE" == cpu ]]; then
    train_small
  elif [[ -n "$GPUS" ]]; then
    TRAIN+=(--gpus "$GPUS")
  fi
  average_no_more_than_there_are
  AVERAGE_THEM=("$PROJECT/scripts/average_checkpoints.sh" --inputs "$OUT/checkpoints"
    --num-epoch-checkpoints "$AVERAGE" --output "$OUT/average.pt")
  GENERATE=(fairseq-generate "$CORPUS_DIR/data-bin" --user-dir "$USER_DIR" --path "$OUT/average.pt"
    --task translation --source-lang en --target-lang "$LANGUAGE" --gen-subset test
    --beam "$BEAM" --lenpen "$LENPEN" --max-len-a 1 --max-len-b 200 --max-tokens 4000
    --required-batch-size-multiple 1 --tokenizer realformer_moses --bpe subword_nmt
    --bpe-codes "$CORPUS_DIR/code")
  [[ "$SCALE" == paper ]] || GENERATE+=(--cpu)
  DESCRIBE=("$PROJECT/scripts/model_card.sh" --checkpoint "$OUT/average.pt"
    --data "$CORPUS_DIR/data-bin" --scores "$OUT/scores.json" --output "$OUT/MODEL_CARD.md")
}

# The recipe's optimizer, schedule and ADMIN for a realformer_tiny, with small batches, few epochs
# and a shorter warm-up.
train_small() {
  # A mean of so few epochs is worse than the last one alone.
  EPOCHS=2 AVERAGE=1
  TRAIN+=(--gpus 0)
  unless_given --max-tokens 2048
  unless_given --effective-batch 2048
  unless_given --epochs "$EPOCHS"
  FAIRSEQ_OPTIONS=(--arch realformer_tiny --warmup-updates 400 --lr 2e-3)
}

# An option of the training script that stands after -- replaces ours.
unless_given() { # flag, value
  [[ " ${TRAINING_OPTIONS[*]-} " == *" $1 "* ]] || TRAIN+=("$@")
}

# Runs a command, or prints it if this is a dry run.
run_step() { # what, command...
  say "$1"
  shift
  if "$DRY_RUN"; then
    printf '%q ' "$@"
    echo
  else
    "$@"
  fi
}

train() {
  ! "$DRY_RUN" || TRAIN+=(--dry-run)
  with_signals "${TRAIN[@]}" ${TRAINING_OPTIONS[@]+"${TRAINING_OPTIONS[@]}"} \
    -- ${FAIRSEQ_OPTIONS[@]+"${FAIRSEQ_OPTIONS[@]}"} ${GIVEN[@]+"${GIVEN[@]}"}
  "$DRY_RUN" || : >"$OUT/training-is-done"
}

translate() {
  with_signals "${GENERATE[@]}" >"$OUT/generate.log.tmp" || die "fairseq-generate failed"
  mv "$OUT/generate.log.tmp" "$OUT/generate.log"
}

score() { # what, file of the figures, translations...
  run_step "$1" "$PROJECT/scripts/score_bleu.sh" --hyp "${@:3}" \
    --ref "$CORPUS_DIR/raw/test.$LANGUAGE" --lang "$LANGUAGE" --json "$2"
}

say_plan() {
  say "$ROW, $MODEL: $EFFECTIVE_BATCH tokens an update, in the paper $RECIPE_GPUS GPUs x" \
    "$RECIPE_MAX_TOKENS tokens x $RECIPE_UPDATE_FREQ; $EPOCHS epochs, mean of the last $AVERAGE," \
    "beam $BEAM, lenpen $LENPEN"
  costs "$ROW"
  say "hours on the paper's $RECIPE_GPUS A100 GPUs: $HOURS"
  say "estimates for the paper's scale: $ESTIMATE"
  [[ "$SCALE" == paper ]] ||
    say "--scale cpu: size, batch, warm-up and epochs are not the paper's, nor is the result"
}

check_choices
choose_commands
say_plan
if ! "$DRY_RUN"; then
  make_folder --out "$OUT"
  made_with="$ROW $MODEL, $CORPUS in $CORPUS_DIR, scale $SCALE"
  made_with+=", further options: ${TRAINING_OPTIONS[*]-} -- ${GIVEN[*]-}"
  keep_options "$OUT" "$made_with"
fi
use_environment
run_step "preparing the corpus (disk: see its -h)" "${PREPARE[@]}"
[[ -e "$OUT/training-is-done" ]] || train
[[ -e "$OUT/average.pt" ]] || run_step "averaging" "${AVERAGE_THEM[@]}"
if "$DRY_RUN"; then
  run_step "translating" "${GENERATE[@]}"
elif [[ ! -e "$OUT/generate.log" ]]; then
  say "translating"
  translate
fi
score "scores" "$OUT/scores.json" "$OUT/generate.log"
for baseline in ${BASELINES[@]+"${BASELINES[@]}"}; do
  score "paired bootstrap against $baseline" "$OUT/$(comparison_with "$baseline")" \
    "$baseline/generate.log" "$OUT/generate.log"
done
# A training on several machines may have left its log elsewhere.
if "$DRY_RUN" || [[ -f "$OUT/checkpoints/train.log" ]]; then
  DESCRIBE+=(--log "$OUT/checkpoints/train.log")
fi
# What was filled in by hand is not written over.
[[ -e "$OUT/MODEL_CARD.md" ]] || run_step "model card" "${DESCRIBE[@]}"
