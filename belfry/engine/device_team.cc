#include "belfry/engine/device_team.h"

#include "belfry/base/internal/start_thread.h"
#include "belfry/base/mutex.h"
#include "belfry/base/parallel.h"

namespace belfry {

struct DeviceTeam::Impl {
  Mutex mutex;
  Condition wake, done;
  std::uint64_t round BELFRY_GUARDED_BY(mutex) = 0;  // of work; a thread that has done it waits for the next
  int wanted BELFRY_GUARDED_BY(mutex) = 0;           // devices that this round is for
  int running BELFRY_GUARDED_BY(mutex) = 0;          // those that have not finished it, except the caller's
  bool stop BELFRY_GUARDED_BY(mutex) = false;
  FunctionRef<void(int)>* body BELFRY_GUARDED_BY(mutex) = nullptr;
  std::vector<std::thread> threads;  // used only by the owner

  void serve(int device, int team) {
    const TeamScope scope(team);
    std::uint64_t seen = 0;
    while (FunctionRef<void(int)>* work = next_work(device, seen)) {
      (*work)(device);
      finish();
    }
  }

  // Waits for a round that the device takes part in; null when the team ends.
  FunctionRef<void(int)>* next_work(int device, std::uint64_t& seen) {
    const MutexLock lock(mutex);
    while (true) {
      while (!stop && round == seen) wake.wait(mutex);
      if (stop) return nullptr;
      seen = round;
      if (device < wanted) return body;
    }
  }

  void finish() {
    const MutexLock lock(mutex);
    if (--running == 0) done.notify_one();
  }

  void begin(int devices, FunctionRef<void(int)>& work) {
    {
      const MutexLock lock(mutex);
      body = &work;
      wanted = devices;
      running = devices - 1;
      ++round;
    }
    wake.notify_all();
  }

  void wait() {
    const MutexLock lock(mutex);
    while (running > 0) done.wait(mutex);
  }

  void end() {
    {
      const MutexLock lock(mutex);
      stop = true;
    }
    wake.notify_all();
    for (std::thread& thread : threads) thread.join();
  }
};

DeviceTeam::DeviceTeam(std::vector<DeviceInfo> devices)
    : devices_(std::move(devices)), impl_(std::make_unique<Impl>()) {
  for (int d = 1; d < static_cast<int>(devices_.size()); ++d)
    impl_->threads.push_back(
        start_thread([this, d] { impl_->serve(d, devices_[static_cast<std::size_t>(d)].threads); }));
}

DeviceTeam::~DeviceTeam() { impl_->end(); }

void DeviceTeam::run(int devices, FunctionRef<void(int)> body) {
  const TeamScope scope(devices_[0].threads);
  silence_team();
  if (devices <= 1) return body(0);
  impl_->begin(devices, body);
  body(0);
  impl_->wait();
}

}  // namespace belfry
