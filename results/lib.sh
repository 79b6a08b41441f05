# shellcheck shell=bash
# What the commands of results/ share: their options. To be sourced, after `set -euo pipefail`.

source "$(dirname "${BASH_SOURCE[0]}")/../scripts/lib/common.sh"

# Reads a command line: --option VALUE into OPTION, [--switch] into SWITCH as `yes`, and the rest
# into NAMES if there may be any. --updates and --jobs are counts.
read_options() { # what is accepted, such as '--data --lr [--no-validation] NAME'; the command line
  local accepted=" $1 " variable
  shift
  NAMES=()
  while [[ $# -gt 0 ]]; do
    variable="$(tr a-z- A-Z_ <<<"${1#--}")"
    case "$1 $accepted" in
      -h\ * | --help\ *) help_text; exit ;;
      --*" $1 "*)
        need_value "$1" $# "${2-}"
        [[ "$1" != --updates && "$1" != --jobs ]] || need_count "$1" "$2"
        printf -v "$variable" '%s' "$2"
        shift
        ;;
      --*" [$1] "*) printf -v "$variable" yes ;;
      [!-]*" NAME "*) NAMES+=("$1") ;;
      *) die "unknown option '$1' (-h for help)" ;;
    esac
    shift
  done
}

# What the options are like, and the environment of trainings of one thread.
begin_experiment() {
  local seed
  split_words SEEDS "$SEEDS"
  for seed in "${SEEDS[@]}"; do need_count --seeds "$seed"; done
  make_folder --out "$OUT"
  make_absolute CORPUS OUT
  use_environment
  export OMP_NUM_THREADS=1
  keep_freed_memory
}

# NAMES is what was named, or all.
choose_names() { # all names
  local name
  [[ ${#NAMES[@]} -gt 0 ]] || NAMES=("$@")
  for name in "${NAMES[@]}"; do
    [[ "$name" != *\ * && " $* " == *" $name "* ]] || die "'$name' is none of $* (-h for help)"
  done
}

# Starts a function in the background, in a process group of its own, once fewer than $JOBS run. What
# goes wrong in one does not end the others.
STARTED=()
job() { # name, function, arguments...
  while [[ "$(jobs -rp | wc -l)" -ge "$JOBS" ]]; do wait -n || true; done
  set -m
  { # `set -e` does not act in a condition, so the function gets a shell of its own
    local status=0
    ("${@:2}") & wait $! || status=$?
    say "$1: exit code $status$([[ "$status" == 0 ]] || echo ", see the logs in '$OUT'")"
    exit "$status"
  } &
  STARTED+=($!)
  set +m
}

wait_for_jobs() { # whether all have succeeded
  local started failed=0
  for started in "${STARTED[@]}"; do wait "$started" || failed=1; done
  STARTED=()
  return "$failed"
}

# Jobs do not get Ctrl-C by themselves. fairseq-train saves when it is told to stop.
stop_jobs() {
  kill -TERM -- "${STARTED[@]/#/-}" 2>/dev/null || true
  exit 143
}

# The learning rate of a model is the best of several in short trainings, if it has a choice. The
# script has `train_briefly NAME RATE FOLDER`, and in VALID_LOSS what a log has before the loss.
try_rates() { # name, learning rates...
  local rate
  [[ $# -gt 2 ]] || return 0
  mkdir -p "$OUT/rates"
  for rate in "${@:2}"; do job "$1 at $rate" try_rate "$1" "$rate"; done
}

# One that diverges is a result, too.
try_rate() { # name, learning rate
  local run="$OUT/rates/$1-$2" loss
  [[ ! -e "$run.loss" ]] || return 0
  train_briefly "$1" "$2" "$run" >"$run.log" 2>&1 ||
    [[ "$(tail -n 1 "$run.log")" == FloatingPointError* ]]
  loss="$(sed -n "s/.*$VALID_LOSS \([0-9.]*\) .*/\1/p" "$run.log" | tail -n 1)"
  echo "${loss:-inf}" >"$run.loss.tmp"
  mv "$run.loss.tmp" "$run.loss"
}

rate_of() { # name, learning rates...; prints the one whose short training had the lowest loss
  local rate losses=()
  [[ $# -gt 2 ]] || { echo "$2" && return; }
  for rate in "${@:2}"; do
    need_file "loss of $1 at $rate" "$OUT/rates/$1-$rate.loss"
    losses+=("$(<"$OUT/rates/$1-$rate.loss") $rate")
  done
  printf '%s\n' "${losses[@]}" | sort -g | sed -n '1s/.* //p'
}
