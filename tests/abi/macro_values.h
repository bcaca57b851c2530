#ifndef CANOPY_TESTS_ABI_MACRO_VALUES_H_
#define CANOPY_TESTS_ABI_MACRO_VALUES_H_

/* Checks of the macros for values, infos and structures made of them. */

#include <stdlib.h>
#include <string.h>

#include "tests/abi/macro_expect.h"

static pmix_boolean_t truth(const char *text) {
  pmix_value_t value;
  PMIX_VALUE_CONSTRUCT(&value);
  value.type = PMIX_STRING;
  value.data.string = (char *) text;
  return pmix_check_true(&value);
}

static void check_truth(void) {
  pmix_value_t value;
  PMIX_VALUE_CONSTRUCT(&value);
  EXPECT(PMIX_CHECK_TRUE(&value) && PMIX_CHECK_BOOL(&value));
  value.type = PMIX_BOOL;
  EXPECT(!PMIX_CHECK_TRUE(&value) && PMIX_CHECK_BOOL(&value));
  value.data.flag = true;
  EXPECT(PMIX_CHECK_TRUE(&value));
  value.type = PMIX_INT;
  EXPECT(!PMIX_CHECK_TRUE(&value) && !PMIX_CHECK_BOOL(&value));
  EXPECT(PMIX_BOOL_TRUE == truth(NULL) && PMIX_BOOL_TRUE == truth(" "));
  EXPECT(PMIX_BOOL_TRUE == truth(" TRUE") && PMIX_BOOL_TRUE == truth("yes"));
  EXPECT(PMIX_BOOL_TRUE == truth("12") && PMIX_BOOL_FALSE == truth("0"));
  EXPECT(PMIX_BOOL_FALSE == truth("False") && PMIX_BOOL_FALSE == truth("NO"));
  EXPECT(PMIX_NON_BOOL == truth("t") && PMIX_NON_BOOL == truth("on"));
}

static void check_values(void) {
  pmix_value_t value;
  pmix_value_t *copy = NULL;
  pmix_status_t rc;
  uint32_t number = 7;
  double wide = 0.0;
  void *data = NULL;
  size_t size = 0;
  PMIX_VALUE_CONSTRUCT(&value);
  PMIX_VALUE_LOAD(&value, &number, PMIX_UINT32);
  PMIX_VALUE_XFER(rc, copy, &value);
  EXPECT(PMIX_SUCCESS == rc && NULL != copy);
  PMIX_VALUE_GET_NUMBER(rc, copy, wide, double);
  EXPECT(PMIX_SUCCESS == rc && 7.0 == wide);
  PMIX_VALUE_DESTRUCT(copy);
  PMIX_VALUE_XFER_DIRECT(rc, copy, &value);
  EXPECT(PMIX_SUCCESS == rc);
  PMIX_VALUE_RELEASE(copy);
  PMIX_VALUE_UNLOAD(rc, &value, &data, &size);
  EXPECT(PMIX_ERR_BAD_PARAM == rc && NULL == data);
  number = 0;
  data = &number;
  PMIX_VALUE_UNLOAD(rc, &value, &data, &size);
  EXPECT(PMIX_SUCCESS == rc && sizeof(number) == size && 7 == number);
  PMIX_VALUE_DESTRUCT(&value);
  PMIX_VALUE_LOAD(&value, "text", PMIX_STRING);
  PMIX_VALUE_GET_NUMBER(rc, &value, wide, double);
  EXPECT(PMIX_ERR_BAD_PARAM == rc);
  PMIX_VALUE_DESTRUCT(&value);
}

static void check_infos(void) {
  pmix_info_t *infos;
  pmix_info_t one;
  bool flag = false;
  PMIX_INFO_CREATE(infos, 2);
  EXPECT(!PMIX_INFO_IS_END(&infos[0]) && PMIX_INFO_IS_END(&infos[1]));
  PMIX_INFO_LOAD(&infos[0], PMIX_JOB_TERM_STATUS, NULL, PMIX_BOOL);
  EXPECT(PMIX_INFO_TRUE(&infos[0]));
  PMIX_INFO_LOAD(&infos[1], "text", "hello", PMIX_STRING);
  PMIX_INFO_CONSTRUCT(&one);
  PMIX_INFO_XFER(&one, &infos[1]);
  EXPECT(PMIX_CHECK_KEY(&one, "text") && PMIX_STRING == one.value.type);
  EXPECT(one.value.data.string != infos[1].value.data.string);
  PMIX_INFO_DESTRUCT(&one);
  PMIX_INFO_FREE(infos, 2);
  EXPECT(NULL == infos);
  PMIX_INFO_CREATE(infos, 0);
  EXPECT(NULL == infos);

  PMIX_INFO_CONSTRUCT(&one);
  EXPECT(PMIX_INFO_IS_OPTIONAL(&one) && !PMIX_INFO_IS_REQUIRED(&one));
  PMIX_INFO_REQUIRED(&one);
  EXPECT(!PMIX_INFO_IS_OPTIONAL(&one) && PMIX_INFO_IS_REQUIRED(&one));
  PMIX_INFO_OPTIONAL(&one);
  EXPECT(PMIX_INFO_IS_OPTIONAL(&one));
  EXPECT(!PMIX_INFO_WAS_PROCESSED(&one));
  PMIX_INFO_PROCESSED(&one);
  EXPECT(PMIX_INFO_WAS_PROCESSED(&one));
  PMIX_INFO_SET_END(&one);
  EXPECT(PMIX_INFO_IS_END(&one));
  PMIX_INFO_SET_QUALIFIER(&one);
  EXPECT(PMIX_INFO_IS_QUALIFIER(&one));
  PMIX_INFO_LOAD(&one, "flag", &flag, PMIX_BOOL);
  EXPECT(!PMIX_INFO_TRUE(&one));
  PMIX_INFO_SET_PERSISTENT(&one);
  EXPECT(PMIX_INFO_IS_PERSISTENT(&one));
  PMIX_INFO_DESTRUCT(&one);
  EXPECT(PMIX_BOOL == one.value.type);
}

static void check_info_lists(void) {
  void *list;
  pmix_status_t rc;
  pmix_info_t info;
  pmix_data_array_t array = PMIX_DATA_ARRAY_STATIC_INIT;
  pmix_info_t *infos;
  int32_t number = 5;
  PMIX_INFO_LIST_START(list);
  EXPECT(NULL != list);
  PMIX_INFO_LIST_ADD(rc, list, "second", &number, PMIX_INT32);
  EXPECT(PMIX_SUCCESS == rc);
  PMIX_INFO_LIST_PREPEND(rc, list, "first", "text", PMIX_STRING);
  EXPECT(PMIX_SUCCESS == rc);
  PMIX_INFO_CONSTRUCT(&info);
  PMIX_INFO_LOAD(&info, "third", "copied", PMIX_STRING);
  PMIX_INFO_LIST_XFER(rc, list, &info);
  EXPECT(PMIX_SUCCESS == rc);
  PMIX_INFO_LIST_INSERT(rc, list, &info);
  EXPECT(PMIX_SUCCESS == rc);
  PMIX_INFO_LIST_CONVERT(rc, list, &array);
  EXPECT(PMIX_SUCCESS == rc && PMIX_INFO == array.type && 4 == array.size);
  infos = (pmix_info_t *) array.array;
  if (4 == array.size) {
    EXPECT(PMIX_CHECK_KEY(&infos[0], "first"));
    EXPECT(PMIX_CHECK_KEY(&infos[3], "third"));
  }
  PMIX_DATA_ARRAY_DESTRUCT(&array);
  PMIX_INFO_LIST_RELEASE(list);
  EXPECT(0 == strcmp(info.value.data.string, "copied"));
  PMIX_INFO_DESTRUCT(&info);
}

static void check_published_data(void) {
  pmix_proc_t proc;
  pmix_pdata_t a;
  pmix_pdata_t b;
  PMIX_PROC_LOAD(&proc, "job", 1);
  PMIX_PDATA_LOAD(&a, &proc, "key", "text", PMIX_STRING);
  PMIX_PDATA_XFER(&b, &a);
  EXPECT(PMIX_CHECK_PROCID(&b.proc, &proc) && PMIX_CHECK_KEY(&b, "key"));
  EXPECT(PMIX_STRING == b.value.type &&
         0 == strcmp(b.value.data.string, "text"));
  PMIX_PDATA_DESTRUCT(&a);
  PMIX_PDATA_DESTRUCT(&b);
}

static void check_requests(void) {
  pmix_app_t *apps;
  pmix_query_t query;
  pmix_proc_info_t *procs;
  pmix_status_t rc;
  PMIX_APP_CREATE(apps, 2);
  apps[0].cmd = canopy_copy_text("prog");
  PMIX_ARGV_APPEND(rc, apps[0].argv, "prog");
  EXPECT(PMIX_SUCCESS == rc);
  PMIX_APP_INFO_CREATE(&apps[1], 3);
  EXPECT(3 == apps[1].ninfo && PMIX_INFO_IS_END(&apps[1].info[2]));
  PMIX_APP_FREE(apps, 2);
  EXPECT(NULL == apps);
  PMIX_QUERY_CONSTRUCT(&query);
  PMIX_ARGV_APPEND(rc, query.keys, PMIX_QUERY_NAMESPACES);
  EXPECT(PMIX_SUCCESS == rc);
  PMIX_QUERY_QUALIFIERS_CREATE(&query, 1);
  EXPECT(1 == query.nqual && NULL != query.qualifiers);
  PMIX_QUERY_DESTRUCT(&query);
  EXPECT(all_zero(&query, sizeof(query)));
  PMIX_PROC_INFO_CREATE(procs, 1);
  procs->hostname = canopy_copy_text("node");
  PMIX_PROC_INFO_RELEASE(procs);
}

#endif /* CANOPY_TESTS_ABI_MACRO_VALUES_H_ */
