source "$(dirname "$0")/common.sh"

machine() { file proc/cpuinfo 'processor	: 0' "flags		: fpu sse4_2 $*" 'bugs		:' 'processor	: 1' 'flags		: fpu'; }

machine avx2 fma
expect caps 0 ''
machine avx2 fma avx512f  # without what the kernels need beside it
expect caps 0 ''
machine avx2 fma avx512f avx512dq avx512bw avx512vl avx512_vnni
expect caps 0 'BELFRY_ISA=avx2 ONEDNN_MAX_CPU_ISA=AVX2'
machine avx2 fma avx512f avx512dq avx512bw avx512vl avx512_bf16 amx_bf16 amx_tile
expect caps 0 'BELFRY_ISA=avx512 ONEDNN_MAX_CPU_ISA=AVX512_CORE
BELFRY_ISA=avx2 ONEDNN_MAX_CPU_ISA=AVX2'
