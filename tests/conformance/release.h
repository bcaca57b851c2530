// DBG-05: releases processes that wait for a debugger.
#ifndef CANOPY_TESTS_CONFORMANCE_RELEASE_H_
#define CANOPY_TESTS_CONFORMANCE_RELEASE_H_

#include "check.h"

static void Release(const char *nspace, pmix_rank_t rank) {
  pmix_proc_t whom;
  PMIX_PROC_LOAD(&whom, nspace, rank);
  Directives list = Flag(PMIX_EVENT_NON_DEFAULT);
  pmix_info_t *range = NextInfo(&list, PMIX_EVENT_CUSTOM_RANGE);
  range->value.type = PMIX_PROC;
  range->value.data.proc = &whom;
  OK(PMIx_Notify_event(PMIX_DEBUGGER_RELEASE, &g_self, PMIX_RANGE_CUSTOM,
                       list.info, list.count, NULL, NULL));
}

#endif
