#!/usr/bin/env bash
# Prepares text of your own for fairseq-train: parallel lines in any two languages.
#
#   data-prep/prepare-corpus.sh --train A.en A.fr --valid B.en B.fr --test C.en C.fr [options]
#
#   --train FILE FILE   source and target, a sentence a line, UTF-8, plain or .gz. Names that end in
#   --valid FILE FILE   codes of languages, as A.en, say which languages these are
#   --test FILE FILE
#   --source-lang LANG  of the first files, where their names do not say it
#   --target-lang LANG  of the second files
#   --out DIR           where everything goes (default: data/corpus-SOURCE2TARGET in the project)
#   --bpe-merges N      Moses tokenisation, and joint byte pair encoding of N merges (default: 8000)
#   --sentencepiece     SentencePiece instead, which needs no tokenisation: for languages without
#                       spaces or without rules in Moses (the extra `sentencepiece` of setup.py)
#   --vocabulary N      its number of pieces, of both languages together (default: 8000)
#   --jobs N            processes             (default: the number of cores)
#
# Ends with DIR/data-bin, and prints a command that trains with it. Both languages must have the same
# number of lines. Of train and valid, pairs are left out that have an empty side, a side of more than
# 250 subwords, a side with more than 9 times as many as the other, or a subword of more than 1,000
# characters. A rerun goes on where it was stopped, and with other text, languages or options makes
# again what depends on them.
#
# Examples
#
#   data-prep/prepare-corpus.sh --train a.en a.fr --valid b.en b.fr --test c.en c.fr --out mine
#   data-prep/prepare-corpus.sh --train a.ja a.en --valid b.ja b.en --test c.ja c.en --sentencepiece
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../scripts/lib/common.sh"
source "$PROJECT/data-prep/lib/text_pipeline.sh"

MAX_TOKENS=250 RATIO=9 # Moses' clean-corpus-n.perl has this ratio by default
OUT="" SOURCE_LANG="" TARGET_LANG="" MERGES="" VOCABULARY="" SENTENCEPIECE=""
# By split. A name is that of a file that a language was read off, or empty.
declare -A SOURCE_TEXTS=() TARGET_TEXTS=()
SOURCE_NAME="" TARGET_NAME=""
JOBS="$(cores)"

# Notes two files of a split. Its name is also that of the flag.
take_texts() { # flag, number of arguments left with the flag, files...
  need_value "$1" "$2" "${3-}"
  [[ "$2" -ge 3 && "${4-}" != --* ]] || die "$1 needs two files, source and target (-h for help)"
  need_file "$1" "$3"
  need_file "$1" "$4"
  SOURCE_TEXTS["${1#--}"]="$3" TARGET_TEXTS["${1#--}"]="$4"
}

while [[ $# -gt 0 ]]; do
  case "$1" in
    -h | --help) help_text; exit ;;
    --train | --valid | --test) take_texts "$1" $# "${@:2:2}"; shift 3 ;;
    --sentencepiece) SENTENCEPIECE=yes; shift ;;
    --source-lang) need_value "$1" $# "${2-}"; SOURCE_LANG="$2"; shift 2 ;;
    --target-lang) need_value "$1" $# "${2-}"; TARGET_LANG="$2"; shift 2 ;;
    --out) need_value "$1" $# "${2-}"; OUT="$2"; shift 2 ;;
    --bpe-merges) need_value "$1" $# "${2-}"; need_count "$1" "$2"; MERGES="$2"; shift 2 ;;
    --vocabulary) need_value "$1" $# "${2-}"; need_count "$1" "$2"; VOCABULARY="$2"; shift 2 ;;
    --jobs) need_value "$1" $# "${2-}"; need_count "$1" "$2"; JOBS="$2"; shift 2 ;;
    *) die "unknown option '$1' (-h for help)" ;;
  esac
done

# The ending of a file's name, which is to be the language that another file had.
take_language() { # variable, that of the file's name, flag that says it otherwise, flag, file
  local name="${5%.gz}" ending
  ending="${name##*.}"
  [[ "${name##*/}" == *.?* ]] ||
    die "$4 '$5': its name does not end in the code of a language, say $3"
  [[ -z "${!1}" || "${!1}" == "$ending" ]] ||
    die "$4 '$5': is '$ending' by its name, where '${!1}' should be; $3 says what it is"
  printf -v "$1" '%s' "$ending"
  printf -v "$2" '%s' "$5"
}

check_texts() {
  local split source="$SOURCE_LANG" target="$TARGET_LANG"
  for split in "${SPLITS[@]}"; do
    [[ -n "${SOURCE_TEXTS[$split]-}" ]] || die "--$split FILE FILE is needed (-h for help)"
  done
  for split in "${SPLITS[@]}"; do
    [[ -n "$source" ]] ||
      take_language SOURCE_LANG SOURCE_NAME --source-lang "--$split" "${SOURCE_TEXTS[$split]}"
    [[ -n "$target" ]] ||
      take_language TARGET_LANG TARGET_NAME --target-lang "--$split" "${TARGET_TEXTS[$split]}"
  done
  PROGRAM="$(basename "$0")" python3 "$PROJECT/data-prep/corpus_languages.py" \
    --source-lang "$SOURCE_LANG" ${SOURCE_NAME:+--source-name "$SOURCE_NAME"} \
    --target-lang "$TARGET_LANG" ${TARGET_NAME:+--target-name "$TARGET_NAME"} \
    ${SENTENCEPIECE:+--sentencepiece}
}

hash_of_texts() {
  local split
  for split in "${SPLITS[@]}"; do
    echo "$split $(file_hash "${SOURCE_TEXTS[$split]}") $(file_hash "${TARGET_TEXTS[$split]}")"
  done | sha256sum | cut -c 1-64
}

copy_texts() {
  local split source target
  say "copying the text"
  mkdir -p "$OUT/raw"
  for split in "${SPLITS[@]}"; do
    source="$OUT/raw/$split.$SOURCE_LANG" target="$OUT/raw/$split.$TARGET_LANG"
    make_file "$source" copy_text "${SOURCE_TEXTS[$split]}"
    make_file "$target" copy_text "${TARGET_TEXTS[$split]}"
    check_same_length "$source" "$target" "${SOURCE_TEXTS[$split]}" "${TARGET_TEXTS[$split]}"
  done
}

learn_pieces() {
  cat "$OUT/raw/train.$SOURCE_LANG" "$OUT/raw/train.$TARGET_LANG" |
    python3 -m realformer_runtime.text.sentence_pieces learn --vocabulary "$VOCABULARY" \
      --lang "$SOURCE_LANG" "$TARGET_LANG" 9>&-
}

encode_in_pieces() { # name, language
  python3 -m realformer_runtime.text.sentence_pieces apply --model "$OUT/$SUBWORD_FILE" \
    --jobs "$JOBS" <"$OUT/raw/$1.$2" 9>&-
}

make_pieces() {
  say "SentencePiece, $VOCABULARY pieces"
  run_stage pieces "$SUBWORD_FILE" "--vocabulary $VOCABULARY, $(tool_versions sentencepiece)" \
    make_file "$OUT/$SUBWORD_FILE" learn_pieces
  run_stage bpe bpe pieces make_stage raw bpe encode_in_pieces
}

clean_corpus() {
  mkdir -p "$OUT/clean"
  drop_pairs bpe clean train "$MAX_TOKENS" "$RATIO"
  drop_pairs bpe clean valid "$MAX_TOKENS" "$RATIO"
  keep_test_set bpe clean
}

# The field's recipe for IWSLT'14 German-English, a corpus of about that size.
print_training() {
  say "a training of a model for some 100,000 pairs; for millions say --arch realformer --dropout 0.1"
  printf '%q ' fairseq-train "$OUT/data-bin" --user-dir "$USER_DIR" --arch realformer_iwslt_de_en \
    --residual-attention mean --sublayer-scaling admin --task translation \
    --source-lang "$SOURCE_LANG" --target-lang "$TARGET_LANG" --share-all-embeddings --dropout 0.3 \
    --criterion label_smoothed_cross_entropy --label-smoothing 0.1 --optimizer adam \
    --adam-betas '(0.9, 0.98)' --weight-decay 1e-4 --clip-norm 0.0 --lr 5e-4 \
    --lr-scheduler inverse_sqrt --warmup-updates 4000 --max-tokens 4096 --max-epoch 50 \
    --keep-last-epochs 10 --save-dir "$OUT/checkpoints"
  echo
  [[ ! -e "$OUT/checkpoints" || "$OUT/checkpoints" -nt "$OUT/stamps/data-bin" ]] ||
    say "warning: '$OUT/checkpoints' is older than the data: remove it, or say another --save-dir"
}

[[ -z "$SENTENCEPIECE" || -z "$MERGES" ]] || die "--bpe-merges has no use with --sentencepiece"
[[ -n "$SENTENCEPIECE" || -z "$VOCABULARY" ]] || die "--vocabulary is for --sentencepiece"
BPE_MERGES="${MERGES:-8000}" VOCABULARY="${VOCABULARY:-8000}"
[[ -z "$SENTENCEPIECE" ]] || SUBWORD_FILE=sentencepiece.bpe.model
use_environment
check_texts
OUT="${OUT:-$PROJECT/data/corpus-${SOURCE_LANG}2$TARGET_LANG}"
make_absolute OUT
make_folder --out "$OUT"
lock_folder --out "$OUT"
run_stage raw raw "$SOURCE_LANG and $TARGET_LANG, text $(hash_of_texts)" copy_texts
need_disk_for_text
if [[ -n "$SENTENCEPIECE" ]]; then make_pieces; else make_bpe; fi
run_stage clean clean "1 to $MAX_TOKENS subwords, ratio $RATIO" clean_corpus
run_stage data-bin data-bin "joined dictionary" binarize_corpus "$OUT/clean"
say_done "$OUT/clean"
print_training
