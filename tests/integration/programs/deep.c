/* Libraries between a program and libpmix: MIDDLE depends on DEEP. */
#ifdef DEEP
#ifdef PLAIN
int deep(void) { return 7; }
#else
int pmix_more(void);
int deep(void) { return pmix_more(); }
#endif
#else
int deep(void);
int middle(void) { return deep(); }
#endif
