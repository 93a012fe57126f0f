// From C++: a permit that settles itself.
#include "crn_admission.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <utility>

namespace {

void check(bool condition, const char *what) {
  if (!condition) {
    std::fprintf(stderr, "failed: %s\n", what);
    std::exit(1);
  }
}

struct Free {
  void operator()(adm_controller *controller) const { adm_controller_free(controller); }
};

class Permit {
public:
  Permit(adm_controller *controller, std::uint64_t number) : controller_(controller), number_(number) {}
  Permit(Permit &&other) noexcept : controller_(std::exchange(other.controller_, nullptr)), number_(other.number_) {}
  Permit(const Permit &) = delete;
  ~Permit() {
    if (controller_ != nullptr)
      adm_permit_cancel(controller_, number_);
  }
  void succeed() { adm_permit_succeed(std::exchange(controller_, nullptr), number_); }

private:
  adm_controller *controller_;
  std::uint64_t number_;
};

} // namespace

int main() {
  adm_config config;
  check(adm_config_default(&config) == ADM_OK, "defaults");
  config.mode = ADM_ENFORCE;
  adm_controller *raw = nullptr;
  check(adm_controller_new(&config, nullptr, &raw) == ADM_OK, "controller");
  std::unique_ptr<adm_controller, Free> controller(raw);
  std::uint64_t device = 0, route = 0, number = 0;
  std::uint32_t generation = 0;
  check(adm_device_open(raw, nullptr, 0, 0, &device) == ADM_OK, "device");
  check(adm_route_open(raw, device, 1, 1, 0, &route, &generation) == ADM_OK, "route");
  adm_snapshot snapshot;
  {
    check(adm_try_acquire(raw, route, generation, 100, &number, nullptr) == ADM_ADMIT, "admitted");
    Permit permit(raw, number);
    Permit moved(std::move(permit));
    check(adm_route_snapshot(raw, route, &snapshot) == ADM_OK && snapshot.in_flight == 100, "reserved");
  }
  check(adm_route_snapshot(raw, route, &snapshot) == ADM_OK && snapshot.in_flight == 0, "given back once");
  check(adm_try_acquire(raw, route, generation, 100, &number, nullptr) == ADM_ADMIT, "admitted again");
  Permit(raw, number).succeed();
  check(adm_route_snapshot(raw, route, &snapshot) == ADM_OK && snapshot.completed == 100, "completed");
  std::puts("done");
}
