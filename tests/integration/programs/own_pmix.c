/* A libpmix of somebody else's, which has more than the standard. */
const char *PMIx_Get_version(void) { return "own 1.0"; }
int pmix_more(void) { return 7; }
