// PMIx_Log in both forms: JOB-20 to JOB-26. run.py searches the output of the
// ranks for the logged text.
#include "nonblocking.h"

static char g_text[100];

static const char *Text(const char *format) {
  snprintf(g_text, sizeof(g_text), format, g_self.rank);
  return g_text;
}

static Directives One(const char *key, const char *text) {
  Directives list = {.count = 0};
  AddText(&list, key, text);
  return list;
}

// Each item of the data names a channel (JOB-20).
static void Output(void) {
  const Directives out = One(PMIX_LOG_STDOUT, Text("out %u\n"));
  OK(PMIx_Log(out.info, 1, NULL, 0));
  const Directives error = One(PMIX_LOG_STDERR, Text("err %u\n"));
  ANSWERS(PMIX_SUCCESS, PMIx_Log_nb, error.info, 1, NULL, 0, OnOperation);
  const Directives fault = One(PMIX_LOG_STDERR, Text("fault %u\n"));
  OK(PMIx_Log(fault.info, 1, NULL, 0));
}

// The first channel that accepts its text ends the operation (JOB-23).
static void Once(void) {
  Directives data = One(PMIX_LOG_JOB_RECORD, "unserved\n");
  AddText(&data, PMIX_LOG_STDOUT, Text("once %u\n"));
  AddText(&data, PMIX_LOG_STDERR, "never\n");
  const Directives once = Flag(PMIX_LOG_ONCE);
  OK(PMIx_Log(data.info, data.count, once.info, 1));
}

// JOB-22: timestamps and tags are added to the text.
static void Decorations(void) {
  const Directives tag = Flag(PMIX_LOG_TAG_OUTPUT);
  Directives data = One(PMIX_LOG_STDOUT, Text("tagged %u\n"));
  OK(PMIx_Log(data.info, 1, tag.info, 1));
  Directives time = Flag(PMIX_LOG_TIMESTAMP_OUTPUT);
  pmix_info_t *stamp = NextInfo(&time, PMIX_LOG_TIMESTAMP);
  stamp->value.type = PMIX_TIME;
  stamp->value.data.time = 1000000000;
  AddFlag(&time, PMIX_LOG_GENERATE_TIMESTAMP, true);
  pmix_info_t *source = NextInfo(&time, PMIX_LOG_SOURCE);
  source->value.type = PMIX_PROC;
  source->value.data.proc = &g_self;
  AddU32(&time, PMIX_USERID, geteuid());
  AddU32(&time, PMIX_GRPID, getegid());
  data = One(PMIX_LOG_STDOUT, Text("timed %u\n"));
  OK(PMIx_Log(data.info, 1, time.info, time.count));
}

// Each node combines the texts of one kind into one line.
static void Gathered(void) {
  Directives kind = Flag(PMIX_LOG_AGG);
  AddText(&kind, PMIX_LOG_KEY, "conformance");
  AddText(&kind, PMIX_LOG_VAL, "gathered");
  for (size_t i = 0; i < kind.count; ++i) PMIX_INFO_REQUIRED(&kind.info[i]);
  const Directives data = One(PMIX_LOG_STDOUT, "gathered\n");
  OK(PMIx_Log(data.info, 1, kind.info, kind.count));
  ANSWERS(PMIX_SUCCESS, PMIx_Log_nb, data.info, 1, kind.info, kind.count,
          OnOperation);
}

// A node may have no syslog.
static void Syslog(void) {
  Directives priority = {.count = 0};
  AddInt(&priority, PMIX_LOG_SYSLOG_PRI, 7);
  PMIX_INFO_REQUIRED(&priority.info[0]);
  const bool is_there = access("/dev/log", W_OK) == 0;
  const char *keys[] = {PMIX_LOG_SYSLOG, PMIX_LOG_LOCAL_SYSLOG};
  for (int i = 0; i < 2; ++i) {
    const Directives data = One(keys[i], "a line of a conformance test");
    const pmix_status_t want = is_there ? PMIX_SUCCESS : PMIX_ERR_NOT_SUPPORTED;
    EXPECT(want, PMIx_Log(data.info, 1, priority.info, 1));
    ANSWERS(want, PMIx_Log_nb, data.info, 1, priority.info, 1, OnOperation);
  }
  const Directives data = One(PMIX_LOG_STDOUT, "never\n");
  Directives wrong = {.count = 0};
  AddInt(&wrong, PMIX_LOG_SYSLOG_PRI, 8);
  PMIX_INFO_REQUIRED(&wrong.info[0]);
  EXPECT(PMIX_ERR_NOT_SUPPORTED, PMIx_Log(data.info, 1, wrong.info, 1));
}

// Mail (JOB-24), job records (JOB-25), global data stores and the global syslog
// are not supported.
static void Unserved(void) {
  pmix_info_t mail[3];
  PMIX_INFO_LOAD(&mail[0], PMIX_LOG_EMAIL_ADDR, "nobody@example", PMIX_STRING);
  PMIX_INFO_LOAD(&mail[1], PMIX_LOG_EMAIL_SUBJECT, "subject", PMIX_STRING);
  PMIX_INFO_LOAD(&mail[2], PMIX_LOG_MSG, "unserved", PMIX_STRING);
  pmix_data_array_t array = {PMIX_INFO, 3, mail};
  Directives data[4] = {One(PMIX_LOG_JOB_RECORD, "unserved"),
                        One(PMIX_LOG_GLOBAL_DATASTORE, "unserved"),
                        One(PMIX_LOG_GLOBAL_SYSLOG, "unserved"),
                        {.count = 0}};
  pmix_info_t *info = NextInfo(&data[3], PMIX_LOG_EMAIL);
  info->value.type = PMIX_DATA_ARRAY;
  info->value.data.darray = &array;
  for (int i = 0; i < 4; ++i) {
    EXPECT(PMIX_ERR_NOT_SUPPORTED, PMIx_Log(data[i].info, 1, NULL, 0));
    ANSWERS(PMIX_ERR_NOT_SUPPORTED, PMIx_Log_nb, data[i].info, 1, NULL, 0,
            OnOperation);
    Directives both = data[i];
    AddText(&both, PMIX_LOG_STDOUT, "partly\n");
    EXPECT(PMIX_ERR_PARTIAL_SUCCESS, PMIx_Log(both.info, 2, NULL, 0));
    ANSWERS(PMIX_ERR_PARTIAL_SUCCESS, PMIx_Log_nb, both.info, 2, NULL, 0,
            OnOperation);
    PMIX_INFO_REQUIRED(&both.info[0]);
    AddText(&both, PMIX_LOG_STDERR, "never\n");
    EXPECT(PMIX_ERR_NOT_SUPPORTED, PMIx_Log(both.info, 3, NULL, 0));
  }
  Directives xml = Flag(PMIX_LOG_XML_OUTPUT);
  PMIX_INFO_REQUIRED(&xml.info[0]);
  const Directives text = One(PMIX_LOG_STDOUT, "never\n");
  EXPECT(PMIX_ERR_NOT_SUPPORTED, PMIx_Log(text.info, 1, xml.info, 1));
}

// JOB-26: the errors are returned at once, without a callback.
static void Malformed(void) {
  const Directives text = One(PMIX_LOG_STDOUT, "never\n");
  Directives number = {.count = 0};
  AddInt(&number, PMIX_LOG_STDOUT, 1);
  EXPECT(PMIX_ERR_BAD_PARAM, PMIx_Log(NULL, 0, NULL, 0));
  EXPECT(PMIX_ERR_BAD_PARAM, PMIx_Log(text.info, 1, NULL, 1));
  EXPECT(PMIX_ERR_BAD_PARAM, PMIx_Log(number.info, 1, NULL, 0));
  REFUSES(PMIX_ERR_BAD_PARAM, PMIx_Log_nb, NULL, 0, NULL, 0, OnOperation);
  REFUSES(PMIX_ERR_BAD_PARAM, PMIx_Log_nb, number.info, 1, NULL, 0,
          OnOperation);
}

int main(int argc, char **argv) {
  Start(argc, argv);
  Malformed();
  Output();
  Once();
  Decorations();
  Gathered();
  Syslog();
  Unserved();
  Barrier();
  CallsAnsweredOnce();
  return Finish();
}
