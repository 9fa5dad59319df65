// Whoever follows a link from another site has no login in that request, since its cookie is SameSite=Strict.
// A request of this page has it: then go on to where the link leads.
fetch(location.href, { credentials: "same-origin", redirect: "manual" }).then((answer) => {
  if (answer.type === "opaqueredirect") location.replace(location.href);
});
