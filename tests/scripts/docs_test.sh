source "$(dirname "$0")/common.sh"

file README.md 'See [the page](docs/page.md#part), [itself](#here), [a folder](docs) and [the web](https://example.org/x).' \
  '```cpp' 'auto f = [](Inputs in) { return in; };' '```' 'Inline `[](no link)` too. [A title](docs/page.md "the page")'
file docs/page.md '[back](../README.md)'
expect docs 0 ''
file docs/bad.md 'text' '[one](missing.md) and [two](../README.md) and [three](../../elsewhere.md)' '![picture](no.png)'
expect docs 1 "docs/bad.md:2: the link 'missing.md' leads nowhere
docs/bad.md:2: the link '../../elsewhere.md' leaves the repository
docs/bad.md:3: the link 'no.png' leads nowhere"

rm "$tree/docs/bad.md"
file code.cc '  int a = 1;' '  int b = 2;'
file docs/code.md '<!-- code: code.cc -->' '```cpp' 'int a = 1;' 'int b = 2;' '```'
expect docs 0 ''
file docs/code.md '<!-- code: code.cc -->' '```cpp' 'int a = 2;' '```' '<!-- code: gone.cc -->' '```cpp' 'x' '```'
expect docs 1 "docs/code.md:1: the code is not in code.cc
docs/code.md:5: the code's file 'gone.cc' does not exist"

rm "$tree/docs/code.md"
file belfry/belfry.h '#include "belfry/ops/sum.h"' '#include "belfry/graph/graph.h"'
file belfry/ops/sum.h 'struct Options {' '  int member() const;' '};' 'Tensor sum(const Tensor& x);' \
  'inline Layer mean(std::string_view name) {' '  return other(name);' '}' 'inline constexpr Activation elu{1};'
file docs/ops.md '`sum`, `elu` and a word: mean'
expect docs 1 "belfry/ops/sum.h: docs/ does not name 'mean'"
file docs/ops.md '`sum`, `elu` and `mean(x)`'
expect docs 0 ''
file belfry/belfry.h '#include "belfry/ops/sum.h"' '#include "belfry/dataflow/shuffle.h"' '#include "belfry/dataflow/image/mixup.h"'
file belfry/dataflow/shuffle.h 'FlowStage shuffle(std::uint64_t seed = 0);' 'std::vector<Flow> fan_out(Flow flow);'
file belfry/dataflow/image/mixup.h 'FlowStage mixup(MixupOptions options);'
file docs/dataflow.md '`shuffle(seed)`'
expect docs 1 "belfry/dataflow/shuffle.h: docs/ does not name 'fan_out'
belfry/dataflow/image/mixup.h: docs/ does not name 'mixup'"
file docs/dataflow.md '`shuffle(seed)`, `fan_out` and `mixup`'
expect docs 0 ''

# The pages for users of Tensorpack.
file tests/docs/tensorpack_names.txt '# a comment' '[dataflow]' BatchData PlasmaPutData TestDataSpeed
file belfry/dataflow/batch.h 'FlowStage batch(BatchOptions options);  // not a word: speed_test'
file belfry/dataflow/internal/speed.h 'void speed_test(Flow flow);'
file docs/tensorpack_data.md '`batch` outside of a table' '' '| Tensorpack | Belfry | what differs |' '|---|---|---|' \
  '| `BatchData(ds, 32)` | `a \| batch(32)` | `anything` |' '| `size()` | `shuffle("no_name")` | |' \
  '| `shuffle` | the same | |' '| `PlasmaPutData`, `TestDataSpeed` | none | |'
expect docs 1 "docs/tensorpack_data.md:5: no public header has 'a'"
file docs/tensorpack_data.md '| Tensorpack | Belfry |' '|---|---|' '| `PlasmaPutData(ds)` | |' \
  '| `reset_state` | the same |' '| `TestDataSpeed(ds)` | `speed_test(flow, {.points = 3})` |' '' '| `BatchData` |'
expect docs 1 "docs/tensorpack_data.md:3: expected an answer in the column Belfry, got none. Say \"none\" or \"not there yet\".
docs/tensorpack_data.md:4: no public header has 'reset_state'
docs/tensorpack_data.md:5: no public header has 'speed_test'
docs/tensorpack_data.md:5: no public header has 'points'
docs/tensorpack*.md: no row for Tensorpack's 'BatchData'"
