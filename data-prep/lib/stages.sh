# shellcheck shell=bash
# Stages that know what they were made from. Sourced by text_pipeline.sh.
#
# A stage fills one folder (or file) of $OUT. Its stamp, $OUT/stamps/NAME, holds a key (a hash of the
# stage's options and of the key before it, so of all that it depends on), its options in words,
# and, once it is done, the size of each file. A stage with another key is made again, one that was
# interrupted goes on, one that is done and intact is left alone.

STAGE_KEY=""

# One run at a time in a folder. Steps that end soon after a killed script inherit its lock, so that
# the next run waits for them; those that would go on must not (9>&-).
lock_folder() { # flag, folder
  exec 9>"$2/.lock"
  need_lock "$1 '$2': another run is at work there" 9
}

hash_text() { # text...
  printf '%s\n' "$@" | sha256sum | cut -c 1-64
}

file_hash() { # file or nothing
  [[ -z "$1" ]] || sha256sum <"$1" | cut -c 1-64
}

tool_versions() { # packages...
  python3 -c 'import sys; from importlib.metadata import version
print(*(f"{name} {version(name)}" for name in sys.argv[1:]), sep=", ")' "$@"
}

# Prints size and name of each finished file of a stage.
stage_files() { # output
  (cd "$OUT" && find "$1" -type f ! -name '*.tmp' -exec wc -c {} \; | LC_ALL=C sort -k 2)
}

write_stamp() { # name, state, output, options
  mkdir -p "$OUT/stamps"
  {
    printf '%s\n' "$STAGE_KEY" "$2" "$4"
    [[ "$2" != complete ]] || stage_files "$3"
  } >"$OUT/stamps/$1.tmp"
  mv "$OUT/stamps/$1.tmp" "$OUT/stamps/$1"
}

stamp_line() { # name, number of the line
  sed -n "$2p" "$OUT/stamps/$1" 2>/dev/null || true
}

# Whether a stage is done and its files have the sizes they had then.
stage_is_intact() { # name, output
  [[ "$(stamp_line "$1" 2)" == complete ]] &&
    [[ "$(tail -n +4 "$OUT/stamps/$1")" == "$(stage_files "$2" 2>/dev/null)" ]]
}

# Removes what has another size than the stamp says, so that it is made again.
remove_changed_files() { # name
  local size file
  while read -r size file; do
    [[ -f "$OUT/$file" && "$(wc -c <"$OUT/$file" | tr -d ' ')" == "$size" ]] || rm -f "$OUT/$file"
  done < <(tail -n +4 "$OUT/stamps/$1")
}

# Says why a stage is not left as it is, and removes what cannot be used. What has no stamp is not
# ours to remove: it is the user's, or of a version that kept none.
prepare_stage() { # name, output, options
  [[ -f "$OUT/stamps/$1" || ! -e "$OUT/$2" ]] ||
    die "--out '$OUT': its '$2' is the user's or of a former version: choose another --out," \
      "or delete it"
  if [[ "$(stamp_line "$1" 1)" == "$STAGE_KEY" ]]; then
    if [[ "$(stamp_line "$1" 2)" == complete ]]; then
      say "$1: files are missing or changed, making them again"
      remove_changed_files "$1"
    elif [[ -e "$OUT/$2" ]]; then
      say "$1: going on where it was stopped"
    fi
    return
  fi
  if [[ -f "$OUT/stamps/$1" && "$(stamp_line "$1" 3)" != "$3" ]]; then
    say "$1: was made with '$(stamp_line "$1" 3)', now '$3': making it again"
  elif [[ -e "$OUT/$2" ]]; then
    say "$1: what it depends on has changed, making it again"
  fi
  rm -rf "${OUT:?}/$2"
}

run_stage() { # name, output in $OUT, options in words, command...
  local name="$1" output="$2" options="$3"
  shift 3
  STAGE_KEY="$(hash_text "$STAGE_KEY" "$name" "$options")"
  if [[ "$(stamp_line "$name" 1)" == "$STAGE_KEY" ]] && stage_is_intact "$name" "$output"; then
    say "$name: done before"
    return
  fi
  prepare_stage "$name" "$output" "$options"
  write_stamp "$name" begun "$output" "$options"
  "$@"
  write_stamp "$name" complete "$output" "$options"
}

# Whether data-bin is done, and no older than the text.
data_is_there() {
  stage_is_intact data-bin data-bin && [[ ! "$OUT/stamps/raw" -nt "$OUT/stamps/data-bin" ]]
}

# Looks at the disk that text and binary data of $OUT/raw still take: data-prep/README.md, "WMT'14".
need_disk_for_text() {
  local raw there
  ! data_is_there || return 0
  raw="$(du -sm "$OUT/raw" | cut -f 1)"
  there="$({ du -smc "$OUT"/{tok,bpe,clean,data-bin} 2>/dev/null || true; } | tail -n 1 | cut -f 1)"
  need_disk $((raw * 4 > there ? raw * 4 - there : 0))
}
