#include "belfry/session/saver.h"

#include <atomic>
#include <exception>
#include <utility>

#include "belfry/base/check.h"
#include "belfry/base/internal/exception_text.h"
#include "belfry/base/internal/start_thread.h"
#include "belfry/base/log.h"
#include "belfry/engine/backend.h"
#include "belfry/graph/collections.h"
#include "belfry/graph/graph.h"
#include "belfry/session/internal/variable_values.h"

namespace belfry {
namespace {

std::uint64_t bytes_of(const Graph& graph) {
  std::uint64_t out = 0;
  for (const Variable& v : graph.collections().variables(collection::kGlobalVariables))
    out += static_cast<std::uint64_t>(v.shape().elements()) * size_of(v.dtype());
  return out;
}

}  // namespace

struct Saver::Impl {
  Impl(Session& s, SaverOptions options) : session(s), writer(std::move(options)) {
    const std::string problem = writer.room_problem(bytes_of(session.graph()));
    if (!problem.empty()) log_warning(problem);
  }
  ~Impl() {
    finish();
    if (failed) log_error(text_of(failed));
  }

  void start(std::int64_t step, std::map<std::string, Array> tensors, CheckpointState state, SaveRequest request) {
    ended = false;
    thread = start_thread(
        [this, step, tensors = std::move(tensors), state = std::move(state), after = std::move(request.after)] {
          try {
            writer.write(step, tensors, state, after);
          } catch (...) {
            const std::string text = text_of(std::current_exception());
            result = std::make_exception_ptr(FileError(
                fmt::format("[Saver] expected to save step {} in '{}', got: {}", step, writer.directory(), text)));
          }
          ended = true;
        });
  }

  // Waits for the thread, if there is one, and takes its result over.
  void finish() {
    if (!thread.joinable()) return;
    thread.join();
    std::exception_ptr now = std::exchange(result, nullptr);
    if (!now) return;
    if (failed) log_error(text_of(failed));
    failed = std::move(now);
  }

  void deliver() {
    if (failed) std::rethrow_exception(std::exchange(failed, nullptr));
  }

  Session& session;
  std::thread thread;
  std::atomic<bool> ended = true;  // the thread has nothing more to do
  // No lock: while the thread runs, it alone uses these two; starting and joining it hand them over.
  CheckpointWriter writer;
  std::exception_ptr result;
  std::exception_ptr failed;  // to be delivered
};

Saver::Saver(Session& session, SaverOptions options) : impl_(std::make_unique<Impl>(session, std::move(options))) {}
Saver::~Saver() = default;

void Saver::save(std::int64_t step, CheckpointState state, SaveRequest request, const Location& where) {
  BELFRY_CHECK(step >= 0, "[Saver] expected a step of 0 or more, got {}.", step);
  impl_->finish();
  Session& session = impl_->session;
  const SessionAlone alone(session, where);  // of one moment, even if companions run
  state.step = step;
  state.seeds["graph"] = session.graph().seed();
  state.random_counter = session.random_counter();
  state.algorithms = session.algorithms();
  state.model.clear();
  for (const Variable& variable : model_variables(session.graph())) state.model.push_back(variable.name());
  state.versions.merge(backend_versions());
  impl_->start(step, values_of(session, session.graph().collections().variables(collection::kGlobalVariables), where),
               std::move(state), std::move(request));
  impl_->deliver();
}

void Saver::wait() {
  impl_->finish();
  impl_->deliver();
}

bool Saver::poll() {
  if (!impl_->ended) return false;
  wait();
  return true;
}

std::vector<std::string> Saver::checkpoints() {
  impl_->finish();
  return impl_->writer.kept();
}

}  // namespace belfry
