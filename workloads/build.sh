#!/bin/sh
# Builds every workload with any C11 compiler.
#   workloads/build.sh CC OUTDIR [CFLAGS...]
# CC may be several words ("homenode cc", "ccache gcc"); CFLAGS replace the default -O2. Always added: -g -std=gnu11 -Wall
# -Wextra -pthread. HN_ONLY="lu kv" builds only these.
set -eu
[ $# -ge 2 ] || { sed -n '2,5s/^# \{0,1\}//p' "$0" >&2; exit 2; }
cc=$1 out=$2
shift 2
[ $# -gt 0 ] || set -- -O2
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$out"

# one NAME SOURCE FLAGS...
one() {
    name=$1 source=$2
    shift 2
    case " ${HN_ONLY:-$name} " in *" $name "*) ;; *) return 0 ;; esac
    # shellcheck disable=SC2086  # the compiler may be several words
    $cc -std=gnu11 -g -Wall -Wextra -pthread -I "$here" "$@" -o "$out/$name" "$here/$source" -lm
}

one lu lu.c "$@"
one sor sor.c "$@"
one sor_cols sor.c "$@" -DHN_COLUMNS=1
one radix radix.c "$@"
one radix_local radix.c "$@" -DHN_LOCAL=1
one stencil stencil.c "$@"
one stencil_fixed stencil.c "$@" -DHN_FIXED=1
one kv kv.c "$@"
one kv_padded kv.c "$@" -DHN_PADDED=1
one fft fft.c "$@"
one fft_staggered fft.c "$@" -DHN_STAGGERED=1
one fft_balanced fft.c "$@" -DHN_BALANCED=1
one gauss gauss.c "$@"
one matmult matmult.c "$@"
one msort msort.c "$@"
one qsort_tasks qsort_tasks.c "$@"
one ssort ssort.c "$@"
one em3d em3d.c "$@"
one bfs bfs.c "$@"
one barnes barnes.c "$@"
one barnes_rebuild barnes.c "$@" -DHN_LOCKED=1
one barnes_spatial barnes.c "$@" -DHN_SPATIAL=1
one water water.c "$@"
one water_gathered water.c "$@" -DHN_GATHERED=1
one water_spatial water.c "$@" -DHN_SPATIAL=1
one mp3d mp3d.c "$@"
one raytrace raytrace.c "$@"
one raytrace_ids raytrace.c "$@" -DHN_RAY_IDS=1
one volrend volrend.c "$@"
one volrend_balanced volrend.c "$@" -DHN_BALANCED=1
# Programs of Bolosky's thesis.
one e_fft thesis/e_fft.c "$@"
one e_simp thesis/epex.c "$@"
one e_hyd thesis/epex.c "$@" -DHN_EPEX=2
one e_nasa thesis/epex.c "$@" -DHN_EPEX=3
one gauss_bands thesis/gauss_bands.c "$@"
one chip thesis/chip.c "$@"
one bsort thesis/heapmerge.c "$@"
one kmerge thesis/heapmerge.c "$@" -DHN_KMERGE=1
one plytrace thesis/plytrace.c "$@"
one sorbyr thesis/sorby.c "$@"
one sorbyc thesis/sorby.c "$@" -DHN_COLUMNS=1
one matmult_timed thesis/matmult.c "$@"
one cholesky thesis/cholesky.c "$@"
one p_gauss thesis/p_gauss.c "$@"
one p_qsort thesis/p_qsort.c "$@"
one p_matmult thesis/matmult.c "$@" -DHN_TASKS=1
one p_life thesis/p_life.c "$@"
# Programs after Markatos and Chronaki.
one m_fft markatos/m_fft.c -I "$here/thesis" "$@"
one m_simple markatos/m_mesh.c -I "$here/thesis" "$@"
one m_weather markatos/m_mesh.c -I "$here/thesis" "$@" -DHN_WEATHER=1
one m_speech markatos/m_speech.c -I "$here/thesis" "$@"
# Programs of the AS-COMA study that are none of the others.
one em3d_built ascoma/em3d_built.c "$@"
one ocean ascoma/ocean.c "$@"
one killme killme.c "$@"
