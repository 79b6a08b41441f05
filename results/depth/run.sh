#!/usr/bin/env bash
# The depth experiment: which 60-12 models train? On a CPU, small width, real text.
#
#   results/depth/run.sh --data DIR [--out DIR] [--lr X] [--updates N] [NAME...]
#
#   --data DIR    what data-prep/prepare-debian-en2fr.sh made: its data-bin
#   --out DIR     logs and checkpoints (default: data/depth in the project)
#   --lr X        peak learning rate   (default: 2e-3)
#   --updates N   length of a training (default: 500)
#   NAME...       which of them        (default: all)
#
# All trainings have the same data in the same order, the same learning rate and the same seed. Each
# takes 9 to 17 minutes on one core. What is done is not done again; what was interrupted goes on.
#
# In the end it draws the pictures of all that are done.
#
# Example
#
#   results/depth/run.sh --data data/debian-en2fr/data-bin post-ln admin
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

declare -A OPTIONS=(
  [post-ln]="--residual-attention none --sublayer-scaling none"
  [pre-ln]="--residual-attention none --sublayer-scaling none
            --encoder-normalize-before --decoder-normalize-before"
  [admin]="--residual-attention none --sublayer-scaling admin"
  [admin-analytic]="--residual-attention none --sublayer-scaling admin-analytic"
  [deepnorm]="--residual-attention none --sublayer-scaling deepnorm"
  [realformer-mean]="--residual-attention mean --sublayer-scaling admin"
  [realformer-sum]="--residual-attention sum --sublayer-scaling admin"
)
ALL=(post-ln admin realformer-mean pre-ln deepnorm admin-analytic realformer-sum)

DATA="" OUT="$PROJECT/data/depth" LR=2e-3 UPDATES=500
read_options "--data --out --lr --updates NAME" "$@"
[[ ${#NAMES[@]} -gt 0 ]] || NAMES=("${ALL[@]}")
for name in "${NAMES[@]}"; do
  [[ -n "$name" && -n "${OPTIONS[$name]+there}" ]] ||
    die "'$name' is none of ${ALL[*]} (-h for help)"
done
[[ -n "$DATA" ]] || die "--data is needed (-h for help)"
need_file "--data $DATA" "$DATA/dict.en.txt"
use_environment
keep_freed_memory
make_folder --out "$OUT"
make_absolute DATA OUT
keep_options "$OUT" "--data $DATA --lr $LR --updates $UPDATES"
write_versions "$OUT/versions.txt"

train() { # name
  local options
  read -ra options <<<"${OPTIONS[$1]//$'\n'/ }"
  fairseq-train "$DATA" --user-dir "$USER_DIR" --arch realformer_wmt_en_fr_60_12 \
    --task translation --source-lang en --target-lang fr --share-all-embeddings \
    --encoder-embed-dim 64 --encoder-ffn-embed-dim 128 --encoder-attention-heads 4 \
    --decoder-embed-dim 64 --decoder-ffn-embed-dim 128 --decoder-attention-heads 4 \
    "${options[@]}" \
    --criterion label_smoothed_cross_entropy --label-smoothing 0.1 \
    --optimizer radam --adam-betas '(0.9, 0.98)' --clip-norm 0 \
    --lr "$LR" --lr-scheduler inverse_sqrt --warmup-updates 100 --warmup-init-lr 1e-7 \
    --max-tokens 512 --required-batch-size-multiple 1 --max-update "$UPDATES" \
    --seed 1 --cpu --num-workers 0 --save-dir "$OUT/$1" --no-epoch-checkpoints \
    --save-interval-updates 200 --keep-interval-updates 1 --disable-validation \
    --log-format simple --log-interval 10
}

validate() { # name
  fairseq-validate "$DATA" --user-dir "$USER_DIR" --path "$OUT/$1/checkpoint_last.pt" \
    --task translation --source-lang en --target-lang fr --valid-subset valid \
    --max-tokens 4096 --required-batch-size-multiple 1 --cpu --log-format simple
}

for name in "${NAMES[@]}"; do
  [[ -e "$OUT/$name.done" ]] && continue
  say "$name"
  status=0
  train "$name" >>"$OUT/$name.log" 2>&1 || status=$?
  last="$(tail -n 1 "$OUT/$name.log")"
  case "$status $last" in
    "0 "*) validate "$name" >"$OUT/$name.valid.log" 2>&1 ;;
    *" FloatingPointError"*) say "$name: $last" ;; # gradients are not finite: a result, too
    "138 "* | "143 "*) die "$name: told to stop, and saved; start again to go on" ;;
    *) die "$name: exit code $status, see '$OUT/$name.log': $last" ;;
  esac
  : >"$OUT/$name.done"
done

logs=() runs=()
for name in "${ALL[@]}"; do
  [[ -e "$OUT/$name.done" ]] || continue
  logs+=("$OUT/$name.log")
  [[ -f "$OUT/$name/checkpoint_last.pt" ]] || continue
  case "$name" in
    *admin* | realformer*) runs+=(--run "$OUT/$name/checkpoint_last.pt" "$OUT/$name.log") ;;
  esac
done
for quantity in loss gradient-norm; do
  "$PROJECT/scripts/plot_learning_curve.sh" --logs "${logs[@]}" --quantity "$quantity" \
    --title "60-12 layers, d 64, learning rate $LR: $quantity in training" \
    --output "$OUT/${quantity/-/_}.png"
done
[[ ${#runs[@]} -eq 0 ]] || "$PROJECT/scripts/plot_omega.sh" "${runs[@]}" \
  --title "omega by depth, 60-12 layers, after $UPDATES updates" --output "$OUT/omega_by_depth.png"
