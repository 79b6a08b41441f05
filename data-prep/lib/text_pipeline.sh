# shellcheck shell=bash
# From raw parallel text to what fairseq-train reads; the stages that every corpus shares.
# To be sourced after scripts/lib/common.sh. The caller sets
#
#   OUT          the folder that everything goes into
#   SOURCE_LANG, TARGET_LANG
#   JOBS         worker processes
#   BPE_MERGES   joint byte pair encoding: number of merges
#
# Stage by stage (stages.sh): $OUT/raw, $OUT/tok, $OUT/bpe, $OUT/data-bin. A file is written under a
# temporary name and renamed, so what exists is complete, and a rerun goes on with what is missing.

source "$PROJECT/data-prep/lib/stages.sh"

SPLITS=(train valid test)
# The files of the stages up to bpe, without the language.
NAMES=("${SPLITS[@]}")
# What the subwords are made with. It goes along with the data, where scripts/translate.sh looks.
SUBWORD_FILE=code
DICTIONARIES=(--joined-dictionary)
WORDS=tok # the stage whose text becomes subwords

# The steps in Python that all corpora share.
corpus_step() { # step, arguments...
  PROGRAM="$(basename "$0")" STARTED_BY=$$ PYTHONPATH="$PROJECT/data-prep:$PYTHONPATH" \
    python3 -m public_corpora "$@"
}

# Runs a command whose output becomes a file, unless the file is there.
make_file() { # file, command...
  local file="$1"
  shift
  [[ -f "$file" ]] && return
  # What a killed run left may still be written to by one of its children: not by this name.
  rm -f "$file.tmp"
  "$@" >"$file.tmp" || die "failed: $* (for '$file')"
  mv "$file.tmp" "$file"
}

# Without a byte order mark, and with a line feed after the last line.
copy_text() { # file, plain or .gz
  python3 -m realformer_runtime.text.utf8_lines -- "$1"
}

count_lines() { # file
  wc -l <"$1" | tr -d ' '
}

check_same_length() { # file, file, [what the user calls them]
  local first second names=("${3:-$1}" "${4:-$2}")
  first="$(count_lines "$1")"
  second="$(count_lines "$2")"
  [[ "$first" == "$second" ]] ||
    die "'${names[0]}' has $first lines, but '${names[1]}' has $second"
  [[ "$first" -gt 0 ]] || die "'${names[0]}' is empty"
}

check_sides() { # folder, names without the language...
  local name
  for name in "${@:2}"; do
    check_same_length "$1/$name.$SOURCE_LANG" "$1/$name.$TARGET_LANG"
  done
}

# Makes each file of a stage that is not there; it has as many lines as that of the stage before.
make_stage() { # stage before, stage, command that is given name and language...
  local name lang
  mkdir -p "$OUT/$2"
  for lang in "$SOURCE_LANG" "$TARGET_LANG"; do
    for name in "${NAMES[@]}"; do
      make_file "$OUT/$2/$name.$lang" "${@:3}" "$name" "$lang"
      check_same_length "$OUT/$1/$name.$lang" "$OUT/$2/$name.$lang"
    done
  done
}

need_disk() { # MB
  local free
  free="$(df -Pm "$OUT" | awk 'NR == 2 { print $4 }')"
  [[ "$free" -ge "$1" ]] || die "--out '$OUT': needs $1 MB of disk, there are $free MB"
}

# 9>&- here and below: what goes on when the script is killed must not keep its lock (stages.sh).
tokenize_file() { # name, language, further options...
  python3 -m realformer_runtime.text.tokenization --lang "$2" --jobs "$JOBS" "${@:3}" \
    <"$OUT/raw/$1.$2" 9>&-
}

encode_file() { # name, language
  python3 -m realformer_runtime.text.byte_pair_encoding apply --codes "$OUT/code" --jobs "$JOBS" \
    <"$OUT/$WORDS/$1.$2" 9>&-
}

learn_codes() { # options...
  python3 -m realformer_runtime.text.byte_pair_encoding learn "$@" 9>&-
}

learn_from_text() {
  cat "$OUT/$WORDS/train.$SOURCE_LANG" "$OUT/$WORDS/train.$TARGET_LANG" |
    learn_codes --merges "$BPE_MERGES"
}

make_bpe() {
  say "Moses tokenisation, and byte pair encoding, $BPE_MERGES joint merges"
  run_stage tok tok "$(tool_versions sacremoses subword-nmt)" make_stage raw tok tokenize_file
  run_stage code code "--bpe-merges $BPE_MERGES" make_file "$OUT/code" learn_from_text
  run_stage bpe bpe joint make_stage tok bpe encode_file
}

# Drops pairs that no training can use: a side is empty or too long, or they are too unequal.
drop_pairs() { # stage before, stage, name, most tokens, ratio
  [[ ! -f "$OUT/$2/$3.$SOURCE_LANG" || ! -f "$OUT/$2/$3.$TARGET_LANG" ]] || return 0
  corpus_step drop --languages "$SOURCE_LANG" "$TARGET_LANG" --max-tokens "$4" --ratio "$5" \
    --lines "$(count_lines "$OUT/$1/$3.$SOURCE_LANG")" --out "$OUT/$2/$3" "$OUT/$1/$3"
}

# The test set stays as it is.
keep_test_set() { # stage before, stage
  local lang
  for lang in "$SOURCE_LANG" "$TARGET_LANG"; do
    make_file "$OUT/$2/test.$lang" cat "$OUT/$1/test.$lang"
  done
  check_sides "$OUT/$2" "${SPLITS[@]}"
}

# All or nothing: what is there is not of this stage's making, or some of it is missing.
binarize_corpus() { # folder of encoded text, further options of fairseq-preprocess...
  # The name is this run's own: a child of a killed run may still be writing into its folder.
  local text="$1" making="$OUT/data-bin.$$.tmp"
  say "binarising (fairseq-preprocess)"
  rm -rf "$OUT"/data-bin{,*.tmp}
  fairseq-preprocess --source-lang "$SOURCE_LANG" --target-lang "$TARGET_LANG" \
    --trainpref "$text/train" --validpref "$text/valid" --testpref "$text/test" \
    ${DICTIONARIES[@]+"${DICTIONARIES[@]}"} --workers "$JOBS" --destdir "$making" "${@:2}" \
    >"$OUT/preprocess.log" 2>&1 9>&- || die "fairseq-preprocess failed, see '$OUT/preprocess.log'"
  cp "$OUT/$SUBWORD_FILE" "$making/"
  mv "$making" "$OUT/data-bin"
}

say_done() { # folder of encoded text
  local pairs types
  pairs="$(count_lines "$1/train.$SOURCE_LANG")"
  types="$(count_lines "$OUT/data-bin/dict.$TARGET_LANG.txt")"
  say "done: '$OUT/data-bin' ($pairs training pairs, dictionary of $types types)"
}

# All that follows the raw text, where every pair is kept.
prepare_data() {
  make_bpe
  run_stage data-bin data-bin "joined dictionary" binarize_corpus "$OUT/bpe"
  say_done "$OUT/bpe"
}
