/* A libpmix of another implementation, with more functions than the Standard.
 */
const char *PMIx_Get_version(void) { return "own 1.0"; }
int pmix_more(void) { return 7; }
