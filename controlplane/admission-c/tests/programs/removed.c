// A program without the controller: the same calls, no library.
#define CRN_ADMISSION_REMOVED
#include "crn_admission.h"

int main(void) {
  adm_controller *controller = 0;
  uint64_t permit = 0;
  if (adm_try_acquire(controller, 1, 1, UINT64_MAX, &permit, 0) != 0)
    return 1;
  if (!adm_permit_is_current(controller, permit) || adm_permit_post_partially(controller, permit, 1) != 0)
    return 2;
  return adm_permit_succeed(controller, permit) | adm_permit_cancel(controller, permit);
}
