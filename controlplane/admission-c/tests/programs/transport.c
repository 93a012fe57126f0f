// A transport in C that does what it should, and then everything that it shouldn't.
#include "crn_admission.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                                                     \
  do {                                                                                                       \
    if (!(condition)) {                                                                                      \
      char text[256];                                                                                        \
      adm_last_error(text, sizeof text);                                                                     \
      fprintf(stderr, "%s:%d: %s (last error: %s)\n", __FILE__, __LINE__, #condition, text);                 \
      exit(1);                                                                                               \
    }                                                                                                        \
  } while (0)

static const uint64_t MS = 1000000;

static adm_controller *make(uint32_t mode) {
  adm_config config;
  CHECK(adm_config_default(&config) == ADM_OK);
  CHECK(config.mode == ADM_OFF);
  config.mode = mode;
  config.min_window = 1000;
  config.max_window = 16000;
  config.cooldown_ns = 10 * MS;
  adm_capacity capacity = {4, 16, 8};
  adm_controller *controller = NULL;
  CHECK(adm_controller_new(&config, &capacity, &controller) == ADM_OK);
  CHECK(controller != NULL);
  return controller;
}

static void good_transport(void) {
  adm_controller *controller = make(ADM_ENFORCE);
  const uint8_t address[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 0, 2, 1};
  uint64_t device, route, permit;
  uint32_t generation;
  int32_t reason;
  CHECK(adm_device_open(controller, address, 1, 0, &device) == ADM_OK && device != 0);
  CHECK(adm_route_open(controller, device, 1, 42, 0, &route, &generation) == ADM_OK && route != 0);

  CHECK(adm_try_acquire(controller, route, generation, 16000, &permit, &reason) == ADM_ADMIT);
  CHECK(permit != 0 && reason == ADM_REASON_NONE);
  uint64_t second = 7;
  CHECK(adm_try_acquire(controller, route, generation, 1, &second, &reason) == ADM_DEFER);
  CHECK(second == 0 && reason == ADM_REASON_ROUTE_WINDOW);
  CHECK(adm_permit_is_current(controller, permit) == 1);
  CHECK(adm_permit_post_partially(controller, permit, 6000) == ADM_OK);
  adm_snapshot snapshot;
  CHECK(adm_route_snapshot(controller, route, &snapshot) == ADM_OK && snapshot.in_flight == 6000);
  CHECK(adm_permit_succeed(controller, permit) == ADM_OK);
  CHECK(adm_device_snapshot(controller, device, &snapshot) == ADM_OK);
  CHECK(snapshot.in_flight == 0 && snapshot.completed == 6000 && snapshot.state == ADM_HEALTHY);

  // Three timeouts quarantine the route; the task learns it.
  adm_task *task;
  CHECK(adm_task_new(1, &task) == ADM_OK);
  CHECK(adm_task_query(task) == ADM_TASK_UNKNOWN);
  adm_handling handling;
  adm_observation seen;
  for (int i = 0; i < 3; i++) {
    CHECK(adm_try_acquire(controller, route, generation, 10, &permit, NULL) == ADM_ADMIT);
    CHECK(adm_permit_complete(controller, permit, 12, 0xabc, MS, &handling, &seen) == ADM_OK);
    CHECK(handling.stale == 0 && seen.vendor_err == 0xabc && (seen.has & ADM_HAS_VENDOR_ERR));
    CHECK(adm_task_record(task, &seen) == ADM_OK);
    CHECK(adm_task_query(task) == (i < 2 ? ADM_TASK_CONGESTED : ADM_TASK_LONG_UNAVAILABLE));
  }
  adm_detail detail;
  CHECK(adm_task_detail(task, &detail) == ADM_OK);
  CHECK(detail.observation.reason == ADM_EVIDENCE_PATH_QUARANTINED && detail.resolved == 0);
  CHECK(detail.observation.path == route && detail.observation.cooldown_ns == 10 * MS);
  CHECK(adm_try_acquire(controller, route, generation, 10, &permit, &reason) == ADM_AVOID);
  CHECK(reason == ADM_REASON_ROUTE_QUARANTINED);
  adm_notice notice;
  int kinds = 0;
  while (adm_poll_notice(controller, &notice) == 1)
    kinds |= 1 << notice.kind;
  CHECK(kinds == (1 << 1 | 1 << 3 | 1 << 4));

  // Cooldown, new endpoint, probe.
  CHECK(adm_tick(controller, 11 * MS) == ADM_OK);
  uint32_t old = generation;
  CHECK(adm_route_renew(controller, route, &generation) == ADM_OK && generation != old);
  CHECK(adm_try_acquire(controller, route, old, 10, &permit, &reason) == ADM_DEFER);
  CHECK(reason == ADM_REASON_GENERATION);
  CHECK(adm_try_acquire(controller, route, generation, 10, &permit, NULL) == ADM_ADMIT);
  CHECK(adm_permit_complete(controller, permit, 0, 0, 12 * MS, NULL, &seen) == ADM_OK && seen.reason == 0);
  CHECK(adm_task_success(task, route, generation, 0) == ADM_OK);
  CHECK(adm_task_query(task) == ADM_TASK_NORMAL);
  CHECK(adm_task_detail(task, &detail) == ADM_OK && detail.resolved == 1);
  CHECK(adm_route_snapshot(controller, route, &snapshot) == ADM_OK && snapshot.state == ADM_HEALTHY);
  adm_task_free(task);

  // Reports: Rate Advice names its device, a receiver's pressure its route.
  for (uint64_t epoch = 13; epoch < 15; epoch++) {
    CHECK(adm_rate_advice(controller, address, 8) == 1);
    CHECK(adm_route_receiver_pressure(controller, route, 0) == ADM_OK);
    CHECK(adm_tick(controller, epoch * MS) == ADM_OK);
  }
  CHECK(adm_device_snapshot(controller, device, &snapshot) == ADM_OK && snapshot.state == ADM_CONGESTED);
  CHECK(snapshot.window == 2000);
  const uint8_t stranger[16] = {1};
  CHECK(adm_rate_advice(controller, stranger, 8) == 0);
  adm_controller_free(controller);
}

static void wrong_transport(void) {
  adm_controller *controller = make(ADM_ENFORCE);
  uint64_t device, route, permit;
  uint32_t generation;
  adm_snapshot snapshot;
  char text[256];
  CHECK(adm_device_open(controller, NULL, 0, 0, &device) == ADM_OK);
  CHECK(adm_route_open(controller, device, 1, 1, 0, &route, &generation) == ADM_OK);

  // Null wherever null can be.
  CHECK(adm_try_acquire(NULL, route, generation, 1, &permit, NULL) == ADM_NULL);
  CHECK(adm_try_acquire(controller, route, generation, 1, NULL, NULL) == ADM_NULL);
  CHECK(adm_route_snapshot(controller, route, &snapshot) == ADM_OK && snapshot.in_flight == 0);
  CHECK(adm_permit_succeed(NULL, 1) == ADM_NULL && adm_permit_cancel(NULL, 1) == ADM_NULL);
  CHECK(adm_permit_complete(NULL, 1, 0, 0, 0, NULL, NULL) == ADM_NULL);
  CHECK(adm_device_open(controller, NULL, 3, 0, &device) == ADM_NULL);
  CHECK(adm_device_open(controller, NULL, 0, 0, NULL) == ADM_NULL);
  CHECK(adm_route_open(controller, device, 1, 1, 0, NULL, NULL) == ADM_NULL);
  CHECK(adm_controller_new(NULL, NULL, &(adm_controller *){NULL}) == ADM_NULL);
  CHECK(adm_config_default(NULL) == ADM_NULL && adm_config_from_environment(NULL) == ADM_NULL);
  CHECK(adm_tick(NULL, 1) == ADM_NULL && adm_poll_notice(controller, NULL) == ADM_NULL);
  CHECK(adm_task_query(NULL) == ADM_NULL && adm_task_record(NULL, NULL) == ADM_NULL);
  CHECK(adm_rate_advice(controller, NULL, 1) == ADM_NULL && adm_classify_completion(0, NULL) == ADM_NULL);
  adm_controller_free(NULL);
  adm_task_free(NULL);
  CHECK(adm_last_error(NULL, 0) > 0);
  CHECK(adm_last_error(text, 5) > 5 && strlen(text) == 4);

  // Settled twice, never given, and after a hand-over.
  CHECK(adm_try_acquire(controller, route, generation, 100, &permit, NULL) == ADM_ADMIT);
  CHECK(adm_permit_post_partially(controller, permit, 101) == ADM_ARGUMENT);
  CHECK(adm_permit_succeed(controller, permit) == ADM_OK);
  CHECK(adm_permit_succeed(controller, permit) == ADM_HANDLE);
  CHECK(adm_permit_cancel(controller, permit) == ADM_HANDLE);
  CHECK(adm_permit_complete(controller, permit, 12, 0, 0, NULL, NULL) == ADM_HANDLE);
  CHECK(adm_permit_is_current(controller, permit) == ADM_HANDLE);
  CHECK(adm_permit_succeed(controller, UINT64_MAX) == ADM_HANDLE);
  CHECK(adm_permit_succeed(controller, 9) == ADM_HANDLE);
  uint64_t second_device;
  CHECK(adm_device_open(controller, NULL, 0, 0, &second_device) == ADM_OK);
  CHECK(adm_try_acquire(controller, route, generation, 100, &permit, NULL) == ADM_ADMIT);
  uint32_t handed;
  CHECK(adm_route_hand_over(controller, route, second_device, 1, 0, &handed) == ADM_OK);
  CHECK(adm_permit_is_current(controller, permit) == 0);
  CHECK(adm_permit_complete(controller, permit, 12, 0, 0, NULL, NULL) == ADM_OK);
  CHECK(adm_permit_cancel(controller, permit) == ADM_HANDLE);
  CHECK(adm_device_snapshot(controller, device, &snapshot) == ADM_OK && snapshot.in_flight == 0);
  CHECK(adm_route_snapshot(controller, route, &snapshot) == ADM_OK);
  CHECK(snapshot.in_flight == 0 && snapshot.errors == 0 && snapshot.state == ADM_HEALTHY);
  generation = handed;

  // Numbers that are no device or route; values out of range; targets of the wrong kind.
  const uint64_t forged[] = {0, 999, UINT64_MAX, (uint64_t)5 << 32 | 1};
  for (size_t i = 0; i < sizeof forged / sizeof *forged; i++) {
    int32_t reason;
    CHECK(adm_try_acquire(controller, forged[i], generation, 1, &permit, &reason) == ADM_AVOID);
    CHECK(reason == ADM_REASON_NO_ROUTE && permit == 0);
    CHECK(adm_route_close(controller, forged[i]) == ADM_HANDLE);
    CHECK(adm_device_close(controller, forged[i]) == ADM_HANDLE);
    CHECK(adm_route_congestion(controller, forged[i], 1) == ADM_HANDLE);
    CHECK(adm_device_event(controller, forged[i], 8, 0, NULL) == ADM_HANDLE);
  }
  CHECK(adm_route_open(controller, device, 0, 1, 0, &route, &generation) == ADM_ARGUMENT);
  CHECK(adm_route_event(controller, route, handed, 8, 0, NULL) == ADM_TARGET);
  CHECK(adm_route_signal(controller, route, handed, 14, 0, NULL) == ADM_ARGUMENT);
  adm_observation nonsense = {.reason = 12};
  adm_task *task;
  CHECK(adm_task_new(1, &task) == ADM_OK && adm_task_record(task, &nonsense) == ADM_ARGUMENT);
  CHECK(adm_task_record(task, NULL) == ADM_NULL);
  adm_task_free(task);
  int32_t reason;
  CHECK(adm_try_acquire(controller, route, handed, UINT64_MAX, &permit, &reason) == ADM_AVOID);
  CHECK(reason == ADM_REASON_TOO_LARGE);

  // More permits than there is room for.
  uint64_t many[8];
  for (int i = 0; i < 8; i++)
    CHECK(adm_try_acquire(controller, route, handed, 1, &many[i], NULL) == ADM_ADMIT);
  CHECK(adm_try_acquire(controller, route, handed, 1, &permit, &reason) == ADM_DEFER);
  CHECK(reason == ADM_REASON_NO_PERMIT);
  CHECK(adm_route_snapshot(controller, route, &snapshot) == ADM_OK && snapshot.in_flight == 8);
  for (int i = 0; i < 8; i++)
    CHECK(adm_permit_cancel(controller, many[i]) == ADM_OK);

  // A clock that jumps.
  CHECK(adm_tick(controller, UINT64_MAX) == ADM_OK && adm_tick(controller, 0) == ADM_OK);
  adm_controller_free(controller);

  // Configurations that can't be.
  adm_config config;
  adm_controller *none = (adm_controller *)&config;
  CHECK(adm_config_default(&config) == ADM_OK);
  config.mode = 3;
  CHECK(adm_controller_new(&config, NULL, &none) == ADM_CONFIG && none == NULL);
  config.mode = ADM_ENFORCE;
  config.min_window = config.max_window + 1;
  CHECK(adm_controller_new(&config, NULL, &none) == ADM_CONFIG && none == NULL);
  adm_last_error(text, sizeof text);
  CHECK(strstr(text, "exceeds the maximum window") != NULL);
  setenv("MC_ADAPTIVE_CC_MODE", "enforce", 1);
  setenv("MC_ADAPTIVE_CC_COOLDOWN_MS", "-1", 1);
  CHECK(adm_config_from_environment(&config) == ADM_CONFIG && config.mode == ADM_OFF);
  setenv("MC_ADAPTIVE_CC_COOLDOWN_MS", "5", 1);
  CHECK(adm_config_from_environment(&config) == ADM_OK);
  CHECK(config.mode == ADM_ENFORCE && config.cooldown_ns == 5 * MS);
}

static void off(void) {
  adm_controller *controller = make(ADM_OFF);
  uint64_t device, route, permit = 5;
  uint32_t generation;
  CHECK(adm_device_open(controller, NULL, 0, 0, &device) == ADM_OK);
  CHECK(adm_route_open(controller, device, 1, 1, 0, &route, &generation) == ADM_OK);
  for (int i = 0; i < 100; i++) {
    CHECK(adm_try_acquire(controller, route, generation, UINT64_MAX, &permit, NULL) == ADM_ADMIT && permit == 0);
    CHECK(adm_permit_is_current(controller, permit) == 1);
    CHECK(adm_permit_post_partially(controller, permit, 1) == ADM_OK);
    CHECK(adm_permit_complete(controller, permit, 12, 0, 0, NULL, NULL) == ADM_OK);
    CHECK(adm_permit_succeed(controller, permit) == ADM_OK);
  }
  adm_controller_free(controller);
}

struct worker {
  adm_controller *controller;
  uint64_t route;
  uint32_t generation;
};

static void *post(void *argument) {
  struct worker *worker = argument;
  for (int i = 0; i < 20000; i++) {
    uint64_t permit;
    if (adm_try_acquire(worker->controller, worker->route, worker->generation, 3000, &permit, NULL) == ADM_ADMIT)
      CHECK(adm_permit_succeed(worker->controller, permit) == ADM_OK);
  }
  return NULL;
}

static void threads(void) {
  adm_controller *controller = make(ADM_ENFORCE);
  struct worker worker = {controller, 0, 0};
  uint64_t device;
  CHECK(adm_device_open(controller, NULL, 0, 0, &device) == ADM_OK);
  CHECK(adm_route_open(controller, device, 1, 1, 0, &worker.route, &worker.generation) == ADM_OK);
  pthread_t posters[4];
  for (int i = 0; i < 4; i++)
    CHECK(pthread_create(&posters[i], NULL, post, &worker) == 0);
  for (uint64_t now = 1; now < 200; now++)
    CHECK(adm_tick(controller, now * MS) == ADM_OK);
  for (int i = 0; i < 4; i++)
    pthread_join(posters[i], NULL);
  adm_snapshot snapshot;
  CHECK(adm_route_snapshot(controller, worker.route, &snapshot) == ADM_OK && snapshot.in_flight == 0);
  CHECK(adm_device_snapshot(controller, device, &snapshot) == ADM_OK && snapshot.in_flight == 0);
  adm_controller_free(controller);
}

int main(void) {
  CHECK(adm_built() == 1);
  good_transport();
  wrong_transport();
  off();
  threads();
  puts("done");
  return 0;
}
