# shellcheck shell=bash
# shellcheck disable=SC2034  # whoever sources this reads the variables
# The recipes of RealFormer's Table 7 (He et al. 2020, arXiv 2012.11747). To be sourced.
#
# From the paper, section 4.2 and A.2: sizes, peak learning rate, linear decay, 50 epochs and the
# average of 25 for RealFormer. Everything else is that of ADMIN's public recipe (Liu et al. 2020,
# arXiv 2008.07772), on which the paper builds: batches, RAdam, warm-up, dropout, label smoothing,
# search, and for the baselines inverse square root, 50 or 100 epochs and the average of 10.
#
# Our choice, since neither gives them:
#   - the linear decay ends at 0 with the last update of the last epoch. Its warm-up starts at 0:
#     fairseq's polynomial_decay has no --warmup-init-lr.
#   - Post-LN and Pre-LN have ADMIN's recipe.
#   - RealFormer is on top of ADMIN in every row, as Table 7 has it, also in the 6-6 rows.
#   - The rows of Table 7 differ in more than the scores. realformer-none is the control: ADMIN with
#     the schedule, the epochs and the average of RealFormer.

RECIPE_MODELS="post-ln pre-ln admin realformer realformer-none"

# Tokens an update = GPUs x tokens on each x batches added up before an update.
#   En-De                4 x 8192 x  1 =    32,768
#   En-Fr 6-6            8 x 8000 x 10 =   640,000
#   En-Fr 60-12         16 x 5000 x 16 = 1,280,000
recipe_batch() { # language pair, row
  case "$1 $2" in
    "en-de 6-6" | "en-de 12-12" | "en-de 18-18")
      RECIPE_GPUS=4 RECIPE_MAX_TOKENS=8192 RECIPE_UPDATE_FREQ=1 ;;
    "en-fr 6-6") RECIPE_GPUS=8 RECIPE_MAX_TOKENS=8000 RECIPE_UPDATE_FREQ=10 ;;
    "en-fr 60-12") RECIPE_GPUS=16 RECIPE_MAX_TOKENS=5000 RECIPE_UPDATE_FREQ=16 ;;
    *) return 1 ;;
  esac
  EFFECTIVE_BATCH=$((RECIPE_GPUS * RECIPE_MAX_TOKENS * RECIPE_UPDATE_FREQ))
}

recipe_arch() { # language pair, row
  local arch="realformer_wmt_${1/-/_}"
  [[ "$2" == 6-6 ]] || arch+="_${2/-/_}"
  echo "$arch"
}

# IWSLT'14 German-English: fairseq's examples/translation/README.md, for every model. It names neither
# an end nor an average: 50 epochs, of which the last 10 are averaged, are our choice. Attention and
# activations have no dropout, as in fairseq's architecture. Here realformer-none is admin.
recipe_iwslt14() { # row, model
  [[ "$1" == 6-6 ]] || return 1
  recipe_model de-en "$2" || return 1
  ARCH=realformer_iwslt_de_en BEAM=5 LENPEN=1 PEAK_LR=5e-4 EPOCHS=50 AVERAGE=10
  RECIPE_GPUS=1 RECIPE_MAX_TOKENS=4096 RECIPE_UPDATE_FREQ=1 EFFECTIVE_BATCH=4096
  SCHEDULE=(--lr-scheduler inverse_sqrt --warmup-updates 4000)
  SHARED=(
    --task translation --share-decoder-input-output-embed --dropout 0.3
    --criterion label_smoothed_cross_entropy --label-smoothing 0.1
    --optimizer adam --adam-betas '(0.9, 0.98)' --weight-decay 1e-4 --clip-norm 0.0
    --seed 1
  )
}

# How to search with the averaged model.
recipe_search() { # language pair
  case "$1" in
    en-de) BEAM=4 LENPEN=0.6 ;;
    en-fr) BEAM=5 LENPEN=0.8 ;;
  esac
}

# What sets a model apart, and its schedule.
recipe_model() { # language pair, model
  MODEL_OPTIONS=(--residual-attention none --sublayer-scaling none)
  SCHEDULE=(--lr-scheduler inverse_sqrt --warmup-updates 8000 --warmup-init-lr 1e-7)
  SCHEDULE+=(--stop-min-lr 1e-9)
  AVERAGE=10
  case "$1" in
    en-de) PEAK_LR=1e-3 EPOCHS=100 ;;
    en-fr) PEAK_LR=7e-4 EPOCHS=50 ;;
  esac
  case "$2" in
    post-ln) ;;
    pre-ln) MODEL_OPTIONS+=(--encoder-normalize-before --decoder-normalize-before) ;;
    admin) MODEL_OPTIONS=(--residual-attention none --sublayer-scaling admin) ;;
    realformer | realformer-none)
      local scores=mean
      [[ "$2" == realformer ]] || scores=none
      MODEL_OPTIONS=(--residual-attention "$scores" --sublayer-scaling admin)
      # Power 1 makes it linear. --total-num-update is counted from the data. No --stop-min-lr: the
      # learning rate is 0 before the first update, and fairseq would end there without an error.
      SCHEDULE=(--lr-scheduler polynomial_decay --power 1 --warmup-updates 8000)
      AVERAGE=25 EPOCHS=50
      case "$1" in
        en-de) PEAK_LR=5e-4 ;;
        en-fr) PEAK_LR=1.2e-3 ;;
      esac ;;
    *) return 1 ;;
  esac
}

# Sets ARCH, RECIPE_GPUS, RECIPE_MAX_TOKENS, RECIPE_UPDATE_FREQ, EFFECTIVE_BATCH (tokens), PEAK_LR,
# EPOCHS, AVERAGE (epochs), BEAM, LENPEN and the fairseq options MODEL_OPTIONS, SCHEDULE, SHARED.
# Returns 1 if there is no such recipe.
recipe() { # language pair (en-de, en-fr of WMT'14, de-en of IWSLT'14), row (6-6, ...), model
  if [[ "$1" == de-en ]]; then
    recipe_iwslt14 "$2" "$3"
    return
  fi
  recipe_batch "$1" "$2" || return 1
  recipe_model "$1" "$3" || return 1
  recipe_search "$1"
  ARCH="$(recipe_arch "$1" "$2")"
  # The architectures set every dropout to 0.1.
  SHARED=(
    --task translation --share-all-embeddings
    --criterion label_smoothed_cross_entropy --label-smoothing 0.1
    --optimizer radam --adam-betas '(0.9, 0.98)' --weight-decay 0.0 --clip-norm 0.0
    --seed 1
  )
}
