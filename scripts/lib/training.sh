# shellcheck shell=bash
# What the training scripts share: options and batch arithmetic; training_run.sh has the rest. To be
# sourced after common.sh; the script sets TARGET_LANG and ROWS, and what is not of WMT'14 from English.

source "$PROJECT/scripts/lib/recipes.sh"
source "$PROJECT/scripts/lib/training_run.sh"

KEEP_EPOCHS=25 # what RealFormer averages; the baselines need 10 of them
CORPUS=wmt14 SOURCE_LANG=en ROW=6-6 DATA="" SAVE_DIR="" # empty: after the row and the model
MODEL=realformer GPUS="" PROCESSES=1 MAX_TOKENS="" NODES=1 NODE_RANK=0
MASTER_ADDR_GIVEN="" MASTER_PORT_GIVEN=29500
PRECISION=auto DRY_RUN=false OWN_BATCH="" OWN_EPOCHS="" EXTRA=() GIVEN_FLAGS=" "
OPTIONS_TO_KEEP="" # in words, where another training must not go on with others

training_help() {
  help_text
  cat <<HELP

Options

  --model M              realformer (on ADMIN; default), admin, pre-ln or post-ln of Table 7, or
                         realformer-none: as realformer in all but the scores
  --data DIR             what fairseq-preprocess wrote
  --save-dir DIR         checkpoints, train.log, tensorboard/
  --gpus N               on this machine (default: all); 0 tries it on the CPU
  --max-tokens N         on each GPU     (default: the recipe's)
  --precision P          fp16, bf16, fp32, or auto: fp16 if the GPU is fast at it (default)
  --dry-run              print what would be done, and fairseq's command; DIRs need not exist
  -- ...                 everything after it goes to fairseq-train

Several machines: start the script on each, with the same options but for the rank. --save-dir
must be the same shared folder.

  --nodes N              number of machines          (default: 1)
  --node-rank R          0 on the first, up to N - 1 (default: 0)
  --master-addr HOST     the first machine
  --master-port PORT     a free port there           (default: 29500)

Not the recipe, for trying things

  --cpu-processes N      with --gpus 0               (default: 1)
  --effective-batch N    tokens an update            (default: the recipe's)
  --epochs N             (default: the recipe's)

The recipe's tokens an update are held: --update-freq is what remains after GPUs and --max-tokens,
and if it is not a whole number, nothing is started. fp16 is what the papers trained with. bf16
needs no loss scale, but checkpoints then keep 8 bits of each parameter, and so does a training
that is started again; optimizer and updates are in float32 with either.

Started again, a training goes on where it was stopped; a damaged checkpoint_last.pt is replaced
by the newest whole one. SIGTERM and SIGUSR1 save first and end with 143 and 138. One training at
a time can use a --save-dir. The last $KEEP_EPOCHS epochs are kept; how much disk that takes is said first.
HELP
}

train_recipe() { # the script's arguments
  training_options "$@"
  choose_recipe
  train_chosen
}

choose_recipe() {
  PAIR="$SOURCE_LANG-$TARGET_LANG"
  DATA="${DATA:-$PROJECT/data/$CORPUS-${SOURCE_LANG}2$TARGET_LANG/data-bin}"
  recipe "$PAIR" "$ROW" "$MODEL" || {
    [[ " $ROWS " == *" $ROW "* ]] || die "--row: '$ROW' is not one of $ROWS"
    die "--model: '$MODEL' is not one of $RECIPE_MODELS"
  }
  SAVE_DIR="${SAVE_DIR:-$PROJECT/checkpoints/$CORPUS-$PAIR-$ROW-$MODEL}"
  make_absolute DATA SAVE_DIR
  check_training_options
}

train_chosen() {
  # Its usual exit code would have a batch system start the script again, for ever.
  trap 'die "SIGUSR1: ended before the training has started"' USR1
  if ! "$DRY_RUN"; then
    check_training_data
    check_nobody_trains_there
  fi
  local threads="${OMP_NUM_THREADS:-}"
  use_environment
  export PYTHONWARNINGS=ignore # fairseq's use of hydra and torch makes a screenful of them
  choose_devices
  [[ -n "$threads" ]] || OMP_NUM_THREADS="$(at_least_1 $(($(cores) / WORKERS)))"
  hold_effective_batch
  choose_precision
  build_command
  plan_training
  launch_command
  printf '%q ' "${COMMAND[@]}"
  echo
  "$DRY_RUN" || start_training
}

training_options() {
  while [[ $# -gt 0 ]]; do
    case "$1" in
      -h | --help) training_help; exit ;;
      --dry-run) DRY_RUN=true; shift; continue ;;
      --) shift; EXTRA=("$@"); return ;;
    esac
    need_value "$1" $# "${2-}"
    [[ "$GIVEN_FLAGS" != *" $1 "* ]] || die "$1 is given twice"
    GIVEN_FLAGS+="$1 "
    case "$1" in
      --row) ROW="$2" ;;
      --model) MODEL="$2" ;;
      --data) DATA="$2" ;;
      --save-dir) SAVE_DIR="$2" ;;
      --gpus) need_number "$1" "$2"; GPUS="$2" ;;
      --cpu-processes) need_count "$1" "$2"; PROCESSES="$2" ;;
      --max-tokens) need_count "$1" "$2"; MAX_TOKENS="$2" ;;
      --nodes) need_count "$1" "$2"; NODES="$2" ;;
      --node-rank) need_number "$1" "$2"; NODE_RANK="$2" ;;
      --master-addr) MASTER_ADDR_GIVEN="$2" ;;
      --master-port) need_count "$1" "$2"; MASTER_PORT_GIVEN="$2" ;;
      --precision) PRECISION="$2" ;;
      --effective-batch) need_count "$1" "$2"; OWN_BATCH="$2" ;;
      --epochs) need_count "$1" "$2"; OWN_EPOCHS="$2" ;;
      *) die "unknown option '$1' (-h for help; fairseq-train's own options go after --)" ;;
    esac
    shift 2
  done
}

check_training_options() {
  # More would overflow the product with --max-tokens.
  [[ "${GPUS:-0}" -le 9999 ]] || die "--gpus: '$GPUS' is above 9999"
  [[ "$NODES" -le 99999 ]] || die "--nodes: '$NODES' is above 99999"
  [[ "$NODE_RANK" -lt "$NODES" ]] ||
    die "--node-rank: '$NODE_RANK' is not between 0 and $((NODES - 1)) (--nodes $NODES)"
  [[ "$NODES" == 1 || -n "$MASTER_ADDR_GIVEN" ]] || die "--nodes $NODES needs --master-addr"
  [[ "$PRECISION" =~ ^(auto|fp16|bf16|fp32)$ ]] ||
    die "--precision: '$PRECISION' is not one of fp16, bf16, fp32, auto"
  [[ "$PROCESSES" == 1 || "$GPUS" == 0 ]] || die "--cpu-processes is for --gpus 0"
  if [[ "${WORLD_SIZE:-1}" -gt 1 || "${SLURM_LOCALID:-0}" -gt 0 ]]; then
    die "start this script once on a machine, not once for each process: it starts torchrun itself"
  fi
  local word
  for word in ${EXTRA[@]+"${EXTRA[@]}"}; do
    case "${word%%=*}" in
      --max-tokens | --save-dir) die "${word%%=*} goes before --, not after it" ;;
      --max-epoch) die "--max-epoch: say --epochs, before --" ;;
      --update-freq) die "--update-freq follows from --effective-batch, GPUs and --max-tokens" ;;
      --batch-size | --max-sentences) die "$word: the recipes count tokens, say --max-tokens" ;;
      --fp16 | --bf16 | --amp | --cpu | --memory-efficient-fp16 | --memory-efficient-bf16) die "$word: say --precision or --gpus 0, before --" ;;
      --user-dir | --distributed-* | --device-id) die "${word%%=*} is set by this script" ;;
    esac
  done
}

check_training_data() {
  local lang
  for lang in "$SOURCE_LANG" "$TARGET_LANG"; do
    [[ -f "$DATA/dict.$lang.txt" ]] ||
      die "--data '$DATA': no dict.$lang.txt there; data-prep/prepare-*.sh makes such a folder"
  done
  [[ -f "$USER_DIR/__init__.py" ]] || die "'$USER_DIR': this project's fairseq plugin is not there"
}

at_least_1() { # number
  echo $(($1 > 1 ? $1 : 1))
}

gpus_here() {
  python3 -c 'import torch; print(torch.cuda.device_count())'
}

# How many processes there are on this machine (WORKERS) and in all (WORLD).
choose_devices() {
  local there
  if [[ -z "$GPUS" ]]; then
    GPUS="$(gpus_here)"
    if [[ "$GPUS" == 0 ]]; then
      "$DRY_RUN" || die "no GPU found; --gpus 0 tries it on the CPU"
      GPUS="$(at_least_1 $((RECIPE_GPUS / NODES)))"
      say "no GPU found: planning for the recipe's $RECIPE_GPUS"
    fi
  elif [[ "$GPUS" != 0 ]] && ! "$DRY_RUN"; then
    there="$(gpus_here)"
    ((GPUS <= there)) || die "--gpus $GPUS: there are $there here; --gpus 0 tries it on the CPU"
  fi
  WORKERS="$GPUS" DEVICE=GPUs
  [[ "$GPUS" != 0 ]] || WORKERS="$PROCESSES" DEVICE="CPU processes"
  WORLD=$((NODES * WORKERS))
}

hold_effective_batch() {
  MAX_TOKENS="${MAX_TOKENS:-$RECIPE_MAX_TOKENS}"
  if [[ -n "$OWN_BATCH" && "$OWN_BATCH" != "$EFFECTIVE_BATCH" ]]; then
    say "NOT THE RECIPE: $OWN_BATCH tokens an update instead of $EFFECTIVE_BATCH"
    EFFECTIVE_BATCH="$OWN_BATCH"
  fi
  if [[ -n "$OWN_EPOCHS" && "$OWN_EPOCHS" != "$EPOCHS" ]]; then
    say "NOT THE RECIPE: $OWN_EPOCHS epochs instead of $EPOCHS"
    EPOCHS="$OWN_EPOCHS"
  fi
  local step=$((WORLD * MAX_TOKENS)) fits
  if ((EFFECTIVE_BATCH % step != 0)); then
    fits="$(what_would_fit)"
    die "$EFFECTIVE_BATCH tokens an update / ($WORLD $DEVICE x $MAX_TOKENS tokens) =" \
      "$(awk "BEGIN { printf \"%.3f\", $EFFECTIVE_BATCH / $step }"), not a whole --update-freq: $fits"
  fi
  UPDATE_FREQ=$((EFFECTIVE_BATCH / step))
}

what_would_fit() {
  local tokens=$((MAX_TOKENS < EFFECTIVE_BATCH / WORLD ? MAX_TOKENS : EFFECTIVE_BATCH / WORLD))
  if ((tokens == 0 || EFFECTIVE_BATCH % WORLD != 0)); then
    echo "$EFFECTIVE_BATCH is no multiple of $WORLD, choose another number of $DEVICE"
    return
  fi
  while ((EFFECTIVE_BATCH / WORLD % tokens != 0)); do
    ((tokens--))
  done
  echo "try --max-tokens $tokens"
}

choose_precision() {
  local fast_half="import torch; print(torch.cuda.get_device_capability()[0] >= 7)"
  if [[ "$PRECISION" == auto ]]; then
    PRECISION=fp16
    if [[ "$GPUS" == 0 ]] || { ! "$DRY_RUN" && [[ "$(python3 -c "$fast_half")" != True ]]; }; then
      PRECISION=fp32
    fi
  fi
  [[ "$PRECISION $GPUS" != "fp16 0" ]] || die "--precision fp16 needs a GPU; bf16 and fp32 do not"
}
