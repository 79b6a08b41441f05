# shellcheck shell=bash
# The command of a training: made, counted out, started. To be sourced by training.sh, whose
# variables it uses.

# Sets TRAIN: fairseq-train's options, but for the distributed ones and the length of the decay.
build_command() {
  take_own_schedule
  TRAIN=(
    "$DATA" --user-dir "$USER_DIR" --source-lang "$SOURCE_LANG" --target-lang "$TARGET_LANG"
    --arch "$ARCH" "${MODEL_OPTIONS[@]}" "${SHARED[@]}" --lr "$PEAK_LR" "${SCHEDULE[@]}"
    --max-tokens "$MAX_TOKENS" --update-freq "$UPDATE_FREQ" --max-epoch "$EPOCHS"
    --save-dir "$SAVE_DIR" --keep-last-epochs "$KEEP_EPOCHS"
    --tensorboard-logdir "$SAVE_DIR/tensorboard" --log-format simple --log-interval 100
    # fairseq reads ahead in a thread. Processes would die of the signal that tells the training to
    # save, and the training of that.
    --num-workers 0
  )
  [[ "$PRECISION" == fp32 ]] || TRAIN+=("--$PRECISION")
  [[ "$GPUS" != 0 ]] || TRAIN+=(--cpu --ddp-backend legacy_ddp --distributed-backend gloo)
}

# Another schedule after -- replaces the recipe's, whose options it may not know.
take_own_schedule() {
  local number own=""
  for ((number = 0; number < ${#EXTRA[@]}; number++)); do
    case "${EXTRA[number]}" in
      --lr-scheduler) own="${EXTRA[number + 1]-}" ;;
      --lr-scheduler=*) own="${EXTRA[number]#*=}" ;;
    esac
  done
  if [[ -n "$own" && "$own" != "${SCHEDULE[1]}" ]]; then
    say "NOT THE RECIPE: --lr-scheduler $own instead of ${SCHEDULE[1]}"
    SCHEDULE=(--lr-scheduler "$own")
  fi
}

# Says which of the recipe's values stand otherwise after --, where fairseq takes the last.
say_what_replaces_the_recipe() {
  local number place word value
  for ((number = 0; number < ${#EXTRA[@]}; number++)); do
    word="${EXTRA[number]}" value="${EXTRA[number + 1]-}"
    [[ "$word" != --*=* ]] || { value="${word#*=}" && word="${word%%=*}"; }
    for ((place = 0; place < ${#TRAIN[@]} - 1; place++)); do
      [[ "$word" == --* && "${TRAIN[place]}" == "$word" && "${TRAIN[place + 1]}" != --* ]] || continue
      [[ "${TRAIN[place + 1]}" == "$value" ]] ||
        say "NOT THE RECIPE: $word $value instead of ${TRAIN[place + 1]}"
    done
  done
}

# Counts updates, parameters and disk, says so, and completes TRAIN with what stands after --.
plan_training() {
  say "$PAIR $ROW $MODEL: $EFFECTIVE_BATCH tokens an update = $WORLD $DEVICE x $MAX_TOKENS tokens" \
    "x --update-freq $UPDATE_FREQ; $EPOCHS epochs, $PRECISION"
  local updates=COUNTED_FROM_THE_DATA decay=()
  say_what_replaces_the_recipe
  [[ "${SCHEDULE[1]}" != polynomial_decay ]] || decay=(--total-num-update)
  if [[ -f "$DATA/dict.$TARGET_LANG.txt" ]]; then
    # Any length of the decay will do for counting.
    PLAN="$(python3 -m realformer_fairseq.training.plan "${TRAIN[@]}" ${decay[@]+"${decay[@]}" 1} \
      ${EXTRA[@]+"${EXTRA[@]}"} --distributed-world-size "$WORLD")"
    updates="$(planned updates)"
    say "$(planned updates_an_epoch) updates an epoch, $updates in all; $(planned parameters) parameters"
    say_disk
  fi
  TRAIN+=(${decay[@]+"${decay[@]}" "$updates"} ${EXTRA[@]+"${EXTRA[@]}"})
}

planned() { # name; prints a figure of PLAN
  awk -v name="$1" '$1 == name { print $2 }' <<<"$PLAN"
}

say_disk() {
  local files there=0 bytes free folder="$SAVE_DIR"
  files="$(planned checkpoints)" bytes="$(planned checkpoint_bytes)"
  while [[ ! -d "$folder" ]]; do
    folder="$(dirname "$folder")"
  done
  free="$(df -Pk "$folder" | awk 'NR == 2 { printf "%.0f", $4 * 1024 }')"
  say "disk: $files checkpoints x $(gigabytes "$bytes") = $(gigabytes $((files * bytes)))," \
    "$(gigabytes "$free") are free in '$folder'"
  if [[ -d "$SAVE_DIR" ]]; then
    there="$(du -sk "$SAVE_DIR" | awk '{ printf "%.0f", $1 * 1024 }')"
  fi
  ((files * bytes <= free + there)) || say "WARNING: the disk will be full before the training is done"
}

gigabytes() { # bytes
  awk -v bytes="$1" 'BEGIN { printf "%.3g GB", bytes / 1e9 }'
}

# Sets COMMAND. One process is fairseq-train itself, several are started by torchrun. Ranks are
# always given: fairseq would make them out from the environment, and does it wrong on CPUs.
launch_command() {
  COMMAND=(fairseq-train "${TRAIN[@]}")
  if [[ "$WORLD" == 1 ]]; then
    COMMAND+=(--distributed-world-size 1)
    return
  fi
  local rendezvous=(--standalone)
  [[ "$NODES" == 1 ]] || rendezvous=(
    --nnodes "$NODES" --node-rank "$NODE_RANK"
    --master-addr "$MASTER_ADDR_GIVEN" --master-port "$MASTER_PORT_GIVEN"
  )
  COMMAND=(
    python3 "$PROJECT/scripts/lib/torchrun_launcher.py" "${rendezvous[@]}"
    --nproc-per-node "$WORKERS"
    "${COMMAND[@]}"
  )
}

# Replaces the script by the training, so that signals reach it.
start_training() {
  make_folder --save-dir "$SAVE_DIR"
  local log="$SAVE_DIR/train.log"
  [[ "$NODE_RANK" == 0 ]] || log="$SAVE_DIR/train.node$NODE_RANK.log"
  check_nobody_trains_there
  [[ -z "$OPTIONS_TO_KEEP" ]] || check_options "$SAVE_DIR" "$OPTIONS_TO_KEEP" write
  [[ "$GPUS" != 0 ]] || keep_freed_memory
  {
    date -u '+%Y-%m-%d %H:%M:%S | start'
    printf '%q ' "${COMMAND[@]}"
    echo
  } >>"$log"
  # fairseq-train hears of it once it has loaded the plugin.
  trap '' USR1
  # The log must not end at a signal that is meant for the training.
  exec "${COMMAND[@]}" > >(trap '' HUP INT TERM USR1 && exec tee -a "$log") 2>&1
}

# The training itself holds the lock. This keeps a second one, unless both are started in the same
# moment, from writing into train.log.
check_nobody_trains_there() {
  [[ ! -d "$SAVE_DIR" || "$NODE_RANK" != 0 ]] ||
    need_lock "--save-dir '$SAVE_DIR': another training is at work there" \
      "$SAVE_DIR/.training.lock" true
}
