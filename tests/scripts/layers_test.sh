source "$(dirname "$0")/common.sh"

# Downwards, sideways and the standard library are fine; so are fmt in check.h, check.h in sources, and what private
# headers include.
file belfry/belfry.h '#include "belfry/launch/launch.h"' '#include "belfry/base/error.h"'
file belfry/base/check.h '#include <fmt/core.h>'
file belfry/base/base.h '#include <string>' '// #include <regex>'
file belfry/array/array.h '#include "belfry/array/shape.h"' '#include "belfry/base/base.h"'
file belfry/array/array.cc '#include "belfry/base/check.h"' '#include <regex>' '#include <fmt/core.h>'
file belfry/engine/pass.h '#include "belfry/base/check.h"' '#include <oneapi/dnnl/dnnl.h>'
file belfry/engine/cpu/conv/conv.h '#include <oneapi/dnnl/dnnl.h>' '#include "belfry/engine/pass.h"'
file belfry/session/internal/json.h '#include <nlohmann/json.hpp>'
file belfry/session/session.cc '#include "belfry/engine/pass.h"' '#include "belfry/session/internal/json.h"'
file belfry/launch/launch.h '#include "belfry/train/trainer.h"'
expect layers 0 ''

# Upwards is not, nor is anything but base and array in dataflow, nor the top header.
file belfry/base/up.cc '#include "belfry/array/array.h"'
file belfry/dataflow/flow.cc '#include "belfry/base/base.h"' '#include "belfry/array/array.h"' '#include "belfry/graph/graph.h"'
file belfry/graph/graph.cc '#include "belfry/belfry.h"' '  #  include <belfry/ops/math.h>' '#include "graph.h"'
file belfry/cellar/wine.h '#include "belfry/base/base.h"'
expect layers 1 'belfry/base/up.cc:1: base includes array, which is a higher layer
belfry/cellar/wine.h:1: the folder belfry/cellar is not in the order of scripts/layers
belfry/dataflow/flow.cc:3: dataflow includes graph: only base and array
belfry/graph/graph.cc:1: graph includes a header of the top folder: include what is used
belfry/graph/graph.cc:2: graph includes ops, which is a higher layer
belfry/graph/graph.cc:3: "graph.h" is not included from the root: write "belfry/..."'
rm -r "$tree"/belfry/{base/up.cc,dataflow,graph,cellar}

# Public headers stay free of third-party, slow and private headers.
file belfry/base/log.h '#include <fmt/format.h>' '#include <filesystem>'
file belfry/nn/layer.h '#include "belfry/base/check.h"' '#include "belfry/engine/pass.h"'
file belfry/session/session.h '#include "belfry/session/internal/json.h"' '#include <nlohmann/json_fwd.hpp>'
expect layers 1 'belfry/base/log.h:1: a public header includes <fmt/format.h>: keep third-party types in sources
belfry/base/log.h:2: a public header includes <filesystem>: too slow to compile, hide it behind a pointer
belfry/nn/layer.h:1: a public header includes the private header belfry/base/check.h
belfry/nn/layer.h:2: a public header includes the private header belfry/engine/pass.h
belfry/session/session.h:1: a public header includes the private header belfry/session/internal/json.h
belfry/session/session.h:2: a public header includes <nlohmann/json_fwd.hpp>: keep third-party types in sources'
rm "$tree"/belfry/{base/log,nn/layer,session/session}.h

# An engine header that is named public may be included, and then keeps the rules itself.
file belfry/engine/public_headers.txt '# comment' 'belfry/engine/pass.h' 'belfry/engine/gone.h'
file belfry/nn/layer.h '#include "belfry/engine/pass.h"'
expect layers 1 'belfry/engine/public_headers.txt: there is no belfry/engine/gone.h
belfry/engine/pass.h:1: a public header includes the private header belfry/base/check.h
belfry/engine/pass.h:2: a public header includes <oneapi/dnnl/dnnl.h>: keep third-party types in sources'
rm -r "$tree"/belfry/{engine/public_headers.txt,nn}

# Where the headers for extensions are named, every public header is one of them or is reached from belfry.h.
file belfry/extension_headers.txt '# comment' 'belfry/nn/extend.h' 'belfry/nn/gone.h'
file belfry/nn/extend.h '#include "belfry/nn/below.h"'
file belfry/nn/below.h '#include "belfry/array/array.h"'
file belfry/nn/forgotten.h '#include "belfry/array/array.h"'
file belfry/train/trainer.h '#include "belfry/base/error.h"'
expect layers 1 'belfry/extension_headers.txt: there is no public belfry/nn/gone.h
belfry/nn/forgotten.h: belfry.h does not reach it. Move it to a folder named internal, or name it in belfry/extension_headers.txt'
rm -r "$tree"/belfry/{extension_headers.txt,nn,train}

# A public header exports what it declares, a private one does not, except below the other libraries.
push='#pragma GCC visibility push(default)'
pop='#pragma GCC visibility pop'
file belfry/nn/layer.h "$push" 'namespace belfry {' '}  // namespace belfry' "$pop"
file belfry/nn/internal/parts.h 'namespace belfry {'
file belfry/base/internal/gate.h "$push" 'namespace belfry {' '}  // namespace belfry' "$pop"
expect layers 0 ''
file belfry/nn/layer.h "$push" 'namespace belfry {' '}  // namespace belfry' "$pop" 'namespace belfry {'
file belfry/nn/internal/parts.h "$push" 'namespace belfry {'
expect layers 1 'belfry/nn/internal/parts.h:1: a private header exports what it declares
belfry/nn/layer.h:5: not exported: put the namespace between #pragma GCC visibility push(default) and pop'
rm -r "$tree"/belfry/{nn,base/internal}

# Nothing else may use what is behind engine/backend.h.
file belfry/engine/plan.cc '#include "belfry/engine/cpu/conv/conv.h"'
file belfry/engine/testing/part.cc '#include "belfry/engine/pass.h"' '#include "belfry/engine/cpu/conv/conv.h"'
file belfry/session/run.cc '#include "belfry/engine/testing/part.h"'
expect layers 1 'belfry/engine/plan.cc:1: includes from the backend engine/cpu: other code uses engine/backend.h
belfry/engine/testing/part.cc:2: includes from the backend engine/cpu: other code uses engine/backend.h
belfry/session/run.cc:1: includes from the backend engine/testing: other code uses engine/backend.h'
rm -r "$tree"/belfry/{engine/plan.cc,engine/testing,session/run.cc}

# Locks are those that clang's analysis knows.
file belfry/base/mutex.h '#include <condition_variable>' '#include <mutex>'
expect layers 0 ''
file belfry/engine/team.cc '#include <atomic>' '#include <mutex>'
file belfry/base/queue.h '#include <condition_variable>'
expect layers 1 'belfry/base/queue.h:1: <condition_variable> is not allowed here: use Mutex, MutexLock and Condition of belfry/base/mutex.h
belfry/engine/team.cc:2: <mutex> is not allowed here: use Mutex, MutexLock and Condition of belfry/base/mutex.h'
rm "$tree"/belfry/{engine/team.cc,base/queue.h}

# Threads are those that handle no signals.
file belfry/base/internal/start_thread.h '#include <thread>'
expect layers 0 ''
file belfry/engine/team.cc '#include <thread>'
expect layers 1 'belfry/engine/team.cc:1: <thread> is not allowed here: use start_thread() of belfry/base/internal/start_thread.h'
rm "$tree"/belfry/engine/team.cc

# An op is known by its kind.
file belfry/engine/pass.cc 'if (node.op == kAdd) log(node.op.name());' 'if (node.name == "loss") log(node.def->name);'
expect layers 0 ''
file belfry/engine/pass.cc 'if (node.def->name == "Add")' 'node.op.name() != "Add"' 'op.name().starts_with("Apply")'
expect layers 1 'belfry/engine/pass.cc:1: an op is identified by its name: compare its kind (belfry/graph/op_kind.h), or ask for a property
belfry/engine/pass.cc:2: an op is identified by its name: compare its kind (belfry/graph/op_kind.h), or ask for a property
belfry/engine/pass.cc:3: an op is identified by its name: compare its kind (belfry/graph/op_kind.h), or ask for a property'
