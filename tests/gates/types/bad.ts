// expect: is not assignable
export const bytes: number = "1 MiB";
