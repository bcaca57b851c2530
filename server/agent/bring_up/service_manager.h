// Messages to the service manager, such as systemd, that has started a process.
#ifndef CANOPY_SERVER_AGENT_BRING_UP_SERVICE_MANAGER_H_
#define CANOPY_SERVER_AGENT_BRING_UP_SERVICE_MANAGER_H_

namespace canopy::agent {

// Reports to the service manager that the service is ready, in the protocol of
// sd_notify. Does nothing if NOTIFY_SOCKET does not name the manager's socket.
void ReportReady();

}  // namespace canopy::agent

#endif  // CANOPY_SERVER_AGENT_BRING_UP_SERVICE_MANAGER_H_
